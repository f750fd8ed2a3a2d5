"""The import contract of slices: store, schemas and test values are private to their slice (architecture 4, rule 3)."""

from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class SlicesContract(Contract):
    """Inside an area or one of its subjects, a slice is a package; others enter it only through its entry modules.

    Modules above the areas (wiring, app, worker, cli, sandbox) may also import what is collected from every slice.
    """

    type_name = "slices"

    areas: Any = fields.ListField(subfield=fields.StringField())
    subjects: Any = fields.ListField(subfield=fields.StringField())
    entry_modules: Any = fields.ListField(subfield=fields.StringField())
    collected: Any = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002 (the signature is given)
        """Every import of a slice's private module from outside that slice breaks the contract."""
        broken: list[str] = []
        for module in sorted(graph.modules):
            slice_name, entrance = self._place(module)
            if slice_name is None or entrance in self.entry_modules or entrance == "":
                continue
            for importer in sorted(graph.find_modules_that_directly_import(module)):
                if importer == slice_name or importer.startswith(slice_name + "."):
                    continue
                if entrance in self.collected and not self._inside_area(importer):
                    continue
                broken.append(f"{importer} imports {module}")
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """One line for each forbidden import."""
        for line in check.metadata["broken"]:
            output.print_error(line)

    def _place(self, module: str) -> tuple[str | None, str]:
        """The slice of a module and its place there: a.webhooks.events.store -> (a.webhooks.events, store)."""
        parts = module.split(".")
        depth = 4 if ".".join(parts[1:3]) in self.subjects else 3
        if len(parts) < depth or parts[1] not in self.areas:
            return None, ""
        return ".".join(parts[:depth]), parts[depth] if len(parts) > depth else ""

    def _inside_area(self, module: str) -> bool:
        parts = module.split(".")
        return len(parts) > 1 and parts[1] in self.areas
