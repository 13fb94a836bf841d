//! Small drawings as inline SVG. Sizes are attributes: the content security policy allows no inline styles.

use maud::{Markup, html};

/// A horizontal bar of parts, each with its class, out of a whole.
pub fn bar(label: &str, parts: &[(&str, f64)], whole: f64) -> Markup {
    let whole = if whole > 0.0 { whole } else { 1.0 };
    let mut x = 0.0;
    let mut rects = Vec::new();
    for (class, value) in parts {
        let width = (value / whole * 100.0).clamp(0.0, 100.0 - x);
        rects.push((*class, x, width));
        x += width;
    }
    html! {
        svg.bar viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label=(label) {
            @for (class, x, width) in rects.iter().filter(|(_, _, width)| *width > 0.0) {
                rect class={ "fill-" (class) } x=(round(*x)) y="0" width=(round(*width)) height="8" {}
            }
        }
    }
}

/// A line through values between 0 and `top`.
pub fn trend(label: &str, values: &[f64], top: f64) -> Markup {
    let (width, height) = (240.0, 60.0);
    let top = values.iter().copied().fold(top, f64::max);
    let y = |value: f64| round(height - 4.0 - value / top * (height - 8.0));
    let step = if values.len() > 1 {
        (width - 8.0) / count(values.len() - 1)
    } else {
        0.0
    };
    let x = |at: usize| round(4.0 + count(at) * step);
    let points: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(at, value)| format!("{},{}", x(at), y(*value)))
        .collect();
    html! {
        svg.plot viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(label) {
            line.axis x1="0" x2=(width) y1=(height - 1.0) y2=(height - 1.0) {}
            polyline.trend points=(points.join(" ")) {}
            @for (at, value) in values.iter().enumerate() { circle.fill-accent cx=(x(at)) cy=(y(*value)) r="3" {} }
        }
    }
}

/// Bars over days: one bar per value, with a name each.
pub fn columns(label: &str, values: &[(String, f64)]) -> Markup {
    let top = values
        .iter()
        .map(|(_, value)| *value)
        .fold(0.0, f64::max)
        .max(f64::MIN_POSITIVE);
    let (width, height) = (300.0, 70.0);
    let days = values.len().max(14);
    let step = width / count(days);
    let named = days.div_ceil(7);
    html! {
        svg.plot viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(label) {
            line.axis x1="0" x2=(width) y1=(height - 16.0) y2=(height - 16.0) {}
            @for (at, (name, value)) in values.iter().enumerate() {
                @let tall = round(value / top * (height - 22.0));
                rect.fill-accent x=(round(count(at) * step + 1.0)) y=(round(height - 16.0 - tall)) width=(round((step - 2.0).max(0.5))) height=(tall) rx="2" { title { (name) } }
                @if at % named == 0 {
                    text x=(round(count(at) * step + 1.0)) y=(height - 3.0) { (name.get(5..).unwrap_or(name)) }
                }
            }
        }
    }
}

pub fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// A number of things on an axis.
#[expect(clippy::cast_precision_loss, reason = "positions in a drawing")]
pub fn count(number: usize) -> f64 {
    number as f64
}
