"""What keeps Recollect from editing an agent's settings; nothing was changed when one of these is raised."""

from __future__ import annotations

from recollect.errors import RecollectError


class BadSettings(RecollectError):
    """The settings of an agent cannot be edited as they are."""


class SettingsChanged(RecollectError):
    """The settings were changed by another program at the same moment; try again."""


class SettingsBusy(RecollectError):
    """Another `recollect install` is at work; try again."""
