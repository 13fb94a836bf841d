package shop

import "fmt"

func Total(prices []int) int {
	sum := 0
	for _, p := range prices {
		sum += p
	}
	return sum
}

func Label(cents int) string {
	if cents%100 == 0 {
		return fmt.Sprintf("%d EUR", cents/100)
	}
	return fmt.Sprintf("%d.%02d EUR", cents/100, cents%100)
}
