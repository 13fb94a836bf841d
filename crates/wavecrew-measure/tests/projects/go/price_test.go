package shop

import "testing"

func TestTotal(t *testing.T) {
	if Total([]int{100, 250}) != 350 {
		t.Fatal("wrong sum")
	}
}

func TestWrong(t *testing.T) {
	t.Run("inner", func(t *testing.T) {
		if Total([]int{1}) != 2 {
			t.Error("one is not two")
		}
	})
}

func TestLater(t *testing.T) {
	t.Skip("later")
}
