"""A register that has no reader of its own, loaded at a terminal by a mapping file."""

from pathlib import Path

from tests.support.database import TestDatabase
from tests.support.service import serving
from tests.support.terminal import in_process, operator

TESTS = Path(__file__).parents[1]
MAPPING = TESTS.parent / "docs" / "guides" / "mappings" / "npo-like.toml"
DECLARING = """
[source]
code = "own-list"
[registry]
code = "XX-OWN"
name = "Eigenes"
english_name = "Own register"
country_code = "AUT"
[file]
format = "csv"
[columns]
number = "No"
name = "Name"
[constants]
types = ["nonprofit"]
active = true
"""
HAND = TESTS / "data" / "registers_by_hand"


async def test_a_mapping_file_stands_in_the_place_of_a_format(empty_database: TestDatabase, tmp_path: Path) -> None:
    async with serving(empty_database) as service:
        service.clock.advance_to(service.clock.real_now())
        typed = in_process(service, tmp_path, await operator(service, "administrator"))
        status, printed = await typed(
            "registers", "import", str(MAPPING), str(HAND / "npo_like.csv"), "--as-of", "2026-03-01"
        )
        assert (status, "Loaded 2 rows" in printed) == (0, True), printed
        status, printed = await typed("registers", "status")
        assert (status, "za-npo-list" in printed) == (0, True), printed
        status, printed = await typed("registers", "list")
        assert (status, "unverified" in printed) == (0, True), printed
        later = tmp_path / "later.csv"
        given = (HAND / "npo_like.csv").read_bytes()
        later.write_bytes(given.replace(b"2023/06/30", b"2024/06/30").replace(b";Durban;", b";Pinetown;"))
        status, printed = await typed("registers", "import", str(MAPPING), str(later), "--as-of", "2026-04-01")
        assert (status, "1 changed, 1 with minor changes" in printed) == (0, True), printed
        status, printed = await typed("registers", "diff", "2026-03-01", "2026-04-01", "--source", "za-npo-list")
        counts = dict(line.split()[-2:] for line in printed.splitlines() if len(line.split()) >= 2)
        assert (status, counts["changed"], counts["minor"]) == (0, "1", "1"), printed
        client = service.client((await service.tenant()).secret)
        found = (await client.get("/v1/organisations/ZAF/NPO/000-001%20NPO")).json()["data"]
        assert (found["name"], found["active"]) == ("Invented Harbour Forum", True)
        (reported,) = found["sources"]
        assert (reported["source"], reported["unverified"]) == ("za-npo-list", True)


async def test_every_problem_of_a_mapping_is_told_before_anything_is_read(
    empty_database: TestDatabase, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(MAPPING.read_text().replace('registry = "NPO"', 'registry = "XYZ"').replace("name =", "nam ="))
    async with serving(empty_database) as service:
        typed = in_process(service, tmp_path, await operator(service, "administrator"))
        status, printed = await typed("registers", "import", str(wrong), str(HAND / "npo_like.csv"))
        assert status != 0
        problems = ("source.registry XYZ is not a registry", "columns has no member nam", "columns.name is missing")
        assert [problem for problem in problems if problem not in printed] == []


async def test_a_mapping_brings_its_registry_with_it(empty_database: TestDatabase, tmp_path: Path) -> None:
    """Entered once, listed, looked up like any other; what another mapping calls it by that code is refused."""
    own = tmp_path / "own.toml"
    own.write_text(DECLARING)
    table = tmp_path / "2026-03-01.csv"
    table.write_text("No,Name\n123,Invented Fund\n124,Other Fund\n")
    async with serving(empty_database) as service:
        service.clock.advance_to(service.clock.real_now())
        typed = in_process(service, tmp_path, await operator(service, "administrator"))
        status, printed = await typed("registers", "import", str(own), str(table))
        assert (status, "Loaded 2 rows" in printed) == (0, True), printed
        client = service.client((await service.tenant()).secret)
        (listed,) = (await client.get("/v1/registries?countryCode=AUT")).json()["data"]
        assert (listed["code"], listed["name"], listed["englishName"]) == ("XX-OWN", "Eigenes", "Own register")
        assert (listed["unverified"], listed["sources"][0]["source"]) == (True, "own-list")
        found = (await client.get("/v1/organisations/AUT/XX-OWN/123")).json()["data"]
        assert (found["name"], found["registryId"]) == ("Invented Fund", "123")
        assert (await client.get("/v1/organisations/AUT/XX-OWN/999")).status_code == 404
        own.write_text(DECLARING.replace('name = "Eigenes"', 'name = "Anderes"'))
        status, printed = await typed("registers", "import", str(own), str(table), "--as-of", "2026-04-01")
        assert (status, "the registry XX-OWN already exists" in printed) == (1, True), printed
        async with service.db.read() as tx:
            trail = await tx.fetch("select action from audit_entry where action like 'regist%' order by position")
        assert [row["action"] for row in trail] == ["registry.added", "register.imported"]
