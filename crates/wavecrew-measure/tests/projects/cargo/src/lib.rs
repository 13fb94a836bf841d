pub fn total(prices: &[u32], discount: u32) -> u32 {
    if prices.is_empty() {
        return 0;
    }
    prices.iter().sum::<u32>() * (100 - discount) / 100
}

pub fn label(cents: u32) -> String {
    format!("{}.{:02} EUR", cents / 100, cents % 100)
}
