# SPDX-License-Identifier: Apache-2.0
"""Inter-groups of all ranks, for tests."""
import torus
from world import RankTest


class SidesTest(RankTest):
    """`sides` are lists of ranks of the job; `own` and `other` are this rank's."""

    def setUp(self):
        super().setUp()
        if self.job.size == 1:
            self.skipTest("an inter-group has two ranks and more")

    def pairs(self):
        """Yields inter-groups: halves, one rank against the rest, and interleaved sides, of which
        one is in turned order."""
        everyone = list(range(self.job.size))
        for sides in ((everyone[:len(everyone) // 2], everyone[len(everyone) // 2:]),
                      (everyone[-1:], everyone[:-1]), (everyone[1::2][::-1], everyone[::2])):
            self.sides = sides
            self.own, self.other = sides if self.job.rank in sides[0] else sides[::-1]
            with self.job.Icreate_intergroup(*sides).wait() as pair:
                yield pair
                pair.barrier()

    def roots(self, pair):
        """Yields (the rank in the job of the root, what this rank gives as the root)."""
        for side in self.sides:
            for number, rank in enumerate(side):
                yield rank, (number if side is not self.own else
                             torus.ROOT if pair.rank == number else torus.PROC_NULL)
