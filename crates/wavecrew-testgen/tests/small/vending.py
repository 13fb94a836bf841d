class VendingMachine:
    PRICES = {"cola": 150, "water": 100}

    def __init__(self, stock=None):
        self.stock = dict(stock or {"cola": 1, "water": 2})
        self.balance = 0
        self.state = "idle"

    def insert(self, cents):
        if cents not in (10, 20, 50, 100, 200):
            raise ValueError("coin not accepted")
        self.balance += cents
        self.state = "ready"

    def choose(self, name):
        if self.state != "ready":
            raise RuntimeError("insert a coin first")
        price = self.PRICES[name]
        if self.stock.get(name, 0) == 0:
            return "sold out"
        if self.balance < price:
            return f"{price - self.balance} missing"
        self.stock[name] -= 1
        change = self.balance - price
        self.balance = 0
        self.state = "idle"
        return change

    def cancel(self):
        back, self.balance = self.balance, 0
        self.state = "idle"
        return back
