# SPDX-License-Identifier: Apache-2.0
"""Complex tensors: FFTs, complex autograd, complex scalars as arguments."""
import torch
from harness import profiled

torch.manual_seed(0)
with profiled():
    z = torch.randn(8, dtype=torch.complex64, requires_grad=True)
    y = torch.fft.ifft(torch.fft.fft(z * (1.5 - 2j)) * 1j).abs().sum()
    y.backward()
    print(round(y.item(), 4), round(z.grad.abs().sum().item(), 4))
    print(round(torch.fft.rfft2(torch.randn(4, 6)).abs().sum().item(), 3))
    print(torch.view_as_real(z.detach().conj().resolve_conj()).sum().isfinite().item())
    print(torch.stft(torch.ones(64), 16, return_complex=True, window=torch.ones(16)).shape)
