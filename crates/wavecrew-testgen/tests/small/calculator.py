def evaluate(expression: str) -> float:
    """Reverse Polish notation: "3 4 +" is 7."""
    stack = []
    for token in expression.split():
        if token in ("+", "-", "*", "/"):
            if len(stack) < 2:
                raise ValueError("missing operand")
            right, left = stack.pop(), stack.pop()
            if token == "+":
                stack.append(left + right)
            elif token == "-":
                stack.append(left - right)
            elif token == "*":
                stack.append(left * right)
            else:
                if right == 0:
                    raise ZeroDivisionError("division by zero in expression")
                stack.append(left / right)
        else:
            stack.append(float(token))
    if len(stack) != 1:
        raise ValueError("malformed expression")
    return stack[0]
