"""How much memory the embedded server may hold pages in."""

from pathlib import Path

import pytest

from almoner.platform.database import postgres
from almoner.platform.observability import memory

MEBIBYTE = 2**20


def test_a_container_may_be_held_to_less_than_its_machine_has(tmp_path: Path) -> None:
    none, limit = tmp_path / "memory.max", tmp_path / "memory.limit_in_bytes"
    machine = memory.usable_memory_bytes([none])
    none.write_text("max\n")
    assert memory.usable_memory_bytes([none]) == machine > 0
    limit.write_text("1048576\n")
    assert memory.usable_memory_bytes([none, limit]) == MEBIBYTE


@pytest.mark.parametrize(
    ("usable", "data", "held"),
    [(256, 10_000, 64), (4_096, 10_000, 512), (65_536, 10_000, 1_024), (65_536, 0, 64), (65_536, 2_000, 500)],
)
def test_the_embedded_server_holds_an_eighth_of_it_or_a_quarter_of_the_data(usable: int, data: int, held: int) -> None:
    assert postgres.shared_buffers_bytes(usable * MEBIBYTE, data * MEBIBYTE) == held * MEBIBYTE


@pytest.mark.parametrize(("usable", "held"), [(256, 128), (4_096, 2_048), (65_536, 4_096)])
def test_half_of_it_is_taken_to_hold_files_within_bounds(usable: int, held: int) -> None:
    assert postgres.effective_cache_bytes(usable * MEBIBYTE) == held * MEBIBYTE
