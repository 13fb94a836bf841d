import enum


class Light(enum.Enum):
    RED = "red"
    GREEN = "green"
    YELLOW = "yellow"


class Crossing:
    ORDER = {Light.RED: Light.GREEN, Light.GREEN: Light.YELLOW, Light.YELLOW: Light.RED}

    def __init__(self, light: Light = Light.RED):
        self.light = light
        self.changes = 0
        self.broken = False

    def advance(self) -> Light:
        if self.broken:
            raise RuntimeError("out of order")
        self.light = self.ORDER[self.light]
        self.changes += 1
        if self.changes >= 5:
            self.broken = True
        return self.light

    def repair(self) -> None:
        self.broken = False
        self.changes = 0

    def may_walk(self) -> bool:
        return self.light is Light.RED and not self.broken
