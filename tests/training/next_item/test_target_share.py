import numpy as np
import pytest
import torch

from training.next_item import target_share
from training.next_item.target_share import target_log_share


@pytest.mark.parametrize("target_counts", [False, True])
def test_target_log_share_and_gradient_match_autograd(
    target_counts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target_share, "_NUMBERS_AT_ONCE", 60)  # two rows at once
    rng = torch.Generator().manual_seed(0)
    features = torch.randn(7, 10, 3, generator=rng, dtype=torch.float64)
    log_count = torch.randn(7, 10, generator=rng, dtype=torch.float64)
    log_count[2, 4:8] = -torch.inf  # padding
    if not target_counts:
        log_count[:, -1] = -torch.inf
    exponents = torch.randn(7, 3, generator=rng, dtype=torch.float64, requires_grad=True)
    weights = torch.rand(7, generator=rng, dtype=torch.float64)

    found = target_log_share(exponents, features, log_count)
    (gradient,) = torch.autograd.grad((weights * found).sum(), exponents)

    scores = (features * exponents[:, None, :]).sum(dim=2)
    wanted = scores[:, -1] - torch.logsumexp(scores + log_count, dim=1)
    (wanted_gradient,) = torch.autograd.grad((weights * wanted).sum(), exponents)
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(gradient.numpy(), wanted_gradient.numpy(), atol=1e-12)
