"""A small site for every test."""

import pytest
from smallsite import Site


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)
