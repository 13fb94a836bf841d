from dataclasses import dataclass, field
from enum import Enum
from typing import List, Optional


class Status(Enum):
    NEW = "new"
    USED = "used"
    BROKEN = "broken"


@dataclass
class Item:
    name: str
    price: float
    status: Status = Status.NEW
    tags: List[str] = field(default_factory=list)

    def discounted(self, percent: float) -> float:
        if not 0 <= percent <= 100:
            raise ValueError("percent must be in 0..100")
        return round(self.price * (100 - percent) / 100, 2)


def cheapest(items: List[Item], status: Optional[Status] = None) -> Optional[Item]:
    best = None
    for item in items:
        if status is not None and item.status is not status:
            continue
        if best is None or item.price < best.price:
            best = item
    return best
