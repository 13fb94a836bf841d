class Thermostat:
    def __init__(self, target: float = 20.0, tolerance: float = 0.5):
        self._target = target
        self.tolerance = tolerance
        self.heating = False

    @property
    def target(self) -> float:
        return self._target

    @target.setter
    def target(self, value: float) -> None:
        if not 5 <= value <= 30:
            raise ValueError(f"target {value} out of range")
        self._target = value

    @property
    def status(self) -> str:
        return "heating" if self.heating else "off"

    def update(self, temperature: float) -> bool:
        if temperature < self._target - self.tolerance:
            self.heating = True
        elif temperature > self._target + self.tolerance:
            self.heating = False
        return self.heating
