"""Settings of the kernel as the profile has them: sysctls, command line, room for tasks."""

import pytest

from fleetcheck.facts.defaults import limit
from fleetcheck.facts.kernel_settings import missing_words, refused_words


@pytest.mark.check(component="os", severity="warn", action="fix-config")
def test_sysctls_are_as_promised(kernel_settings):
    """Every sysctl the profile names has its value. Put it into /etc/sysctl.d and run sysctl --system."""
    assert not kernel_settings.sysctls.offending(kernel_settings.differs)


@pytest.mark.check(component="os", severity="warn", action="fix-config")
def test_command_line_has_its_words(system, profile):
    """The kernel was started with the words the profile asks for. Change the boot loader's settings and reboot."""
    missing = missing_words(system, profile)
    assert not missing, f"not on the kernel's command line: {' '.join(missing)}"


@pytest.mark.check(component="os", severity="warn", action="fix-config")
def test_command_line_has_no_refused_word(system, profile):
    """The kernel was started without the words the profile refuses. Change the boot loader's settings and reboot."""
    refused = refused_words(system, profile)
    assert not refused, f"on the kernel's command line: {' '.join(refused)}"


@pytest.mark.check(component="os", severity="warn", action="observe")
def test_tasks_are_left(kernel_settings, profile):
    """The machine is far from the number of processes and threads it can have. Find who starts them."""
    assert kernel_settings.tasks.percent in limit(profile, "tasks_percent")
