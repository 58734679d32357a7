import torch

print(torch.ones(2, 2, device="cuda").sum().item())
