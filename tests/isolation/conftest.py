"""A site with a reports folder: nights are recorded, and commands act on them."""

import pytest
from nights import command, night


class Site:
    def __init__(self, folder, monkeypatch, capsys):
        self.folder, self._patch, self._capsys = folder, monkeypatch, capsys
        self.list = folder / "reports" / "out-of-service"
        self.audit = folder / "reports" / "isolation.jsonl"

    def night(self, run_id, failing=None, **more):
        return night(self.folder, run_id, failing, **more)

    def command(self, word, run, *words, backend="file"):
        """Exit code and all that was said."""
        code, out, err = command(self._patch, self._capsys, word, run.id, "--reports", self.folder / "reports", "--backend", backend, *words)
        return code, out + err


@pytest.fixture
def site(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("SLURM_SCRIPT_CONTEXT", raising=False)
    return Site(tmp_path, monkeypatch, capsys)
