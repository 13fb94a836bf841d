from dataclasses import dataclass, field
from typing import List


@dataclass
class Line:
    name: str
    price: float
    amount: int = 1

    @property
    def total(self) -> float:
        return self.price * self.amount


@dataclass
class Order:
    lines: List[Line] = field(default_factory=list)
    voucher: str = ""

    def add(self, line: Line) -> None:
        for known in self.lines:
            if known.name == line.name and known.price == line.price:
                known.amount += line.amount
                return
        self.lines.append(line)

    def total(self) -> float:
        total = sum(line.total for line in self.lines)
        if self.voucher == "HALF":
            total /= 2
        elif self.voucher.startswith("MINUS"):
            total -= int(self.voucher[5:])
        return max(total, 0.0)
