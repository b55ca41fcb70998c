"""A second meaning of positional expressions: parse the printed formula, compute on Python integers.

sum  ::= term (("+" | "-") term)*          term ::= atom (("·" | "mod" | "div") atom)*
atom ::= integer | n | N | "(" sum ")" | "pos" "(" sum ")" | "[" sum (<= < >= > =) sum "]"
       | "(" "if" sum "then" sum "else" sum ")"
"""

import operator
import re

TOKEN = re.compile(r"\d+|<=|>=|[a-zA-Z]+|[^\s]")
COMPARISONS = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt, "=": operator.eq}
SUMS = {"+": operator.add, "-": operator.sub}
PRODUCTS = {"·": operator.mul, "mod": operator.mod, "div": operator.floordiv}


class Reader:
    def __init__(self, formula, n, N):
        self.tokens = [*TOKEN.findall(formula), "end"]
        self.names = {"n": n, "N": N}

    def take(self, expected=None):
        token = self.tokens.pop(0)
        assert expected in (None, token), f"{token} instead of {expected}"
        return token

    def sum(self):
        return self.chain(self.term, SUMS)

    def term(self):
        return self.chain(self.atom, PRODUCTS)

    def chain(self, operand, operations):
        value = operand()
        while self.tokens[0] in operations:
            value = operations[self.take()](value, operand())
        return value

    def atom(self):
        token = self.take()
        if token == "-":
            return -int(self.take())
        if token == "pos":
            self.take("(")
            value = max(self.sum(), 0)
            self.take(")")
            return value
        if token == "[":
            left, sign, right = self.sum(), self.take(), self.sum()
            self.take("]")
            return int(COMPARISONS[sign](left, right))
        if token == "(":
            value = self.condition() if self.tokens[0] == "if" else self.sum()
            self.take(")")
            return value
        return self.names[token] if token in self.names else int(token)

    def condition(self):
        self.take("if")
        condition = self.sum()
        self.take("then")
        then = self.sum()
        self.take("else")
        otherwise = self.sum()
        return then if condition else otherwise


def meaning(formula, n, N):
    reader = Reader(formula, n, N)
    value = reader.sum()
    reader.take("end")
    return value
