# SPDX-License-Identifier: Apache-2.0
"""Every common optimizer: for-loop, foreach and fused forms; schedulers; groups."""
import torch
from harness import profiled

torch.manual_seed(0)
recipes = [("SGD", {"nesterov": True, "momentum": 0.9}), ("SGD", {"foreach": True}),
           ("Adam", {"amsgrad": True}), ("AdamW", {"foreach": True}), ("Adagrad", {}),
           ("RMSprop", {"centered": True}), ("Adadelta", {}), ("Adamax", {}), ("NAdam", {}),
           ("RAdam", {}), ("ASGD", {}), ("Rprop", {})]
if torch.__version__ >= "2.5":
    recipes += [("Adam", {"fused": True}), ("SGD", {"fused": True})]
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))
with profiled():
    for name, options in recipes:
        groups = [{"params": net[0].parameters(), "lr": 1e-3}, {"params": net[1].parameters()}]
        optimizer = getattr(torch.optim, name)(groups, lr=1e-2, **options)
        planner = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 5)
        loss = net(torch.ones(2, 3)).square().sum()
        loss.backward()
        optimizer.step()
        planner.step()
        optimizer.zero_grad()
        print(name, round(loss.item(), 4))
    lbfgs = torch.optim.LBFGS(net.parameters(), max_iter=2)

    def closure():
        lbfgs.zero_grad()
        value = net(torch.ones(2, 3)).square().sum()
        value.backward()
        return value

    print("LBFGS", round(float(lbfgs.step(closure)), 4))
