"""Fields: what each says about itself, and what derives from it."""

import pytest

from studiogate.domain.fields import Field
from studiogate.domain.fields import readers as v


def test_a_field_says_whether_it_is_personal() -> None:
    with pytest.raises(TypeError, match="personal"):
        Field("nickname", v.name(), None, None)  # type: ignore[call-arg]


def test_a_personal_field_says_what_an_erasure_leaves() -> None:
    with pytest.raises(ValueError, match="after an erasure"):
        Field("nickname", v.name(), personal=True)
    assert Field("nickname", v.name(), personal=True, erased="").erased_value == ""
    assert Field("nickname", v.name(), None, None, personal=True).erased_value is None
