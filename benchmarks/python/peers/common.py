"""Functions of the rows that are one source for all peers whose arrays have numpy's methods."""


class CommonRows:
    """Methods named like the functions of the rows."""

    def sum_chain(self, x, z):
        return x * z + x - 2 * z

    def sum_all(self, x):
        return x.sum()

    def sum_row(self, x):
        return x.sum(1)

    def sum_column(self, x):
        return x.sum(0)

    def mean_row(self, x):
        return x.mean(1)

    def mean_column(self, x):
        return x.mean(0)

    def var_row(self, x):
        return x.var(1)

    def var_column(self, x):
        return x.var(0)

    def max_row(self, x):
        return x.max(1)

    def max_column(self, x):
        return x.max(0)

    def argmax_row(self, x):
        return x.argmax(1)

    def cumsum_row(self, x):
        return x.cumsum(1)

    def cumsum_column(self, x):
        return x.cumsum(0)

    def laplacian(self, x):
        inner = slice(1, -1)
        beside = x[inner, 2:] + x[inner, :-2] + x[2:, inner] + x[:-2, inner]
        return beside - 4 * x[inner, inner]

    def take(self, table, places):
        return table[places]

    def take_pairs(self, table, rows, columns):
        return table[rows, columns]

    def transposed_sum(self, x):
        return (x.T + x.T).T

    def matmul(self, a, b):
        return a @ b

    def matmul_left(self, a, b):
        return a.T @ b

    def matmul_right(self, a, b):
        return a @ b.T
