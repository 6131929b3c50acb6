"""Trains the classifier of balls, and searches its layers with a genetic algorithm over accuracy and measured cost (H23).

Everybody who was tried stays in the population. Of two drawn by lot the parent is who is dominated by fewer, that is, by
those that are both better and cheaper; children mix the layers of two parents and change some. Each is trained for the same
number of steps, its cost is what `nutmeg nn bench` measures for 50 patches on one core. In the end those that nobody
dominates learn on, and the best of them that costs no more than the network we had before is ball.onnx.
"""
import csv
import os
import random
import subprocess
import time

import torch
import torch.nn.functional as F

import nets
from learning import Course, Feed, device, load_bytes, precision_recall, warp, worsen, write

CHANNELS, KERNELS, DENSE, LIMITS = [4, 8, 16, 24, 32, 48], [1, 3, 5], [0, 8, 16, 32], [0.3, 0.5, 0.7, 0.8, 0.9]
ABOUT = "A grey patch of 32 x 32 pixels, 0 to 1, 1.4 x as wide as the ball that may be in it, to the probability that it is one."


def sound(genes):
    """At least one pool, not more pools than halve 32 pixels to 2, and few enough weights behind them."""
    pools = sum(pool for _, _, pool in genes["convs"])
    return 1 <= len(genes["convs"]) <= 6 and 2 <= pools <= 4 and genes["convs"][-1][0] * (nets.PATCH >> pools) ** 2 <= 4096


def random_genes(dice):
    while True:
        genes = dict(convs=[(dice.choice(CHANNELS), dice.choice(KERNELS), dice.random() < 0.7) for _ in range(dice.randint(2, 5))], dense=dice.choice(DENSE))
        if sound(genes):
            return genes


def child(dice, a, b):
    """Layers of a up to some place, then those of b; then one to three changes."""
    while True:
        convs = a["convs"][:dice.randint(0, len(a["convs"]))] + b["convs"][dice.randint(0, len(b["convs"])):]
        dense = dice.choice([a, b])["dense"]
        for _ in range(dice.randint(1, 3)):
            what = dice.randint(0, 5)
            k = dice.randrange(len(convs)) if convs else 0
            if what == 0 or not convs:
                convs = convs[:k] + [(dice.choice(CHANNELS), dice.choice(KERNELS), dice.random() < 0.5)] + convs[k:]
            elif what == 1:
                convs = convs[:k] + convs[k + 1:]
            elif what == 2:
                dense = dice.choice(DENSE)
            else:
                channels, kernel, pool = convs[k]
                change = [(dice.choice(CHANNELS), kernel, pool), (channels, dice.choice(KERNELS), pool), (channels, kernel, not pool)][what - 3]
                convs = convs[:k] + [change] + convs[k + 1:]
        genes = dict(convs=convs, dense=dense)
        if sound(genes):
            return genes


def text(genes):
    """Such as 8x3p-16x3-d16: channels x kernel, p: a pool follows; d: the dense layer."""
    return "-".join("%dx%d%s" % (c, k, "p" * p) for c, k, p in genes["convs"]) + "-d%d" % genes["dense"]


class Patches:
    def __init__(self, folder):
        self.x = load_bytes(folder + "/patches.u8").reshape(-1, 1, nets.PATCH, nets.PATCH).to(device())
        self.y = load_bytes(folder + "/patches_ball.u8").float().to(device())


def judge(model, patches, limits=()):
    """[(recall, precision)] at the limits, and the mean precision."""
    with torch.no_grad():
        p = torch.cat([torch.sigmoid(model(part.float() / 255)).float()[:, 0] for part in patches.x.split(8192)])
    value, order = p.sort(descending=True)
    return precision_recall(value, patches.y[order], patches.y.sum().item(), limits)


def measure(o, model):
    """Microseconds for 50 patches, and products."""
    path = os.path.join(o.out, "search", "measured.onnx")
    with open(path, "wb") as file:
        file.write(nets.to_onnx(model.net, model.weights()))
    said = subprocess.run(o.nutmeg.split() + ["nn", "bench", "--seconds", "0.2", "--open", "50", path], check=True, capture_output=True, text=True).stdout
    os.remove(path)
    best, unit = said.split("best ")[1].split(",")[0].split()
    return float(best) * {"ns": 1e-3, "us": 1, "ms": 1e3}[unit]


def train_ball(o, folder, begun, command):
    torch.manual_seed(o.seed)
    torch.backends.cudnn.benchmark = True
    dice, most, batch, steps = random.Random(o.seed), 12 * o.pictures, 16 if o.tiny else 1024, 5 if o.tiny else 900
    x = torch.empty(most, 1, nets.PATCH, nets.PATCH, dtype=torch.uint8, device=device())
    y = torch.empty(most, device=device())

    def load(here, first, at):
        mine = Patches(here)
        n = min(len(mine.y), most - at)
        x[at:at + n], y[at:at + n] = mine.x[:n], mine.y[:n]
        return at + n

    feed = Feed(folder, o.batch, o.pictures, load)
    choose, test = Patches(folder + "/choose"), Patches(folder + "/test")
    feed.wait()

    def learn(course, share):
        i = torch.randint(0, feed.count, (batch,), device=device())
        a = worsen(warp(x[i].float() / 255, 0.85, 0.3, 0.06)[0])
        return course.step(a, lambda p: F.binary_cross_entropy_with_logits(p[:, 0], y[i]), share)

    tried = []  # genes, error, cost

    def dominated(of):
        return sum(t[1] <= of[1] and t[2] <= of[2] and (t[1] < of[1] or t[2] < of[2]) for t in tried)

    def parent():
        return min(dice.sample(tried, 2), key=dominated)[0]

    ends = begun + 60 * o.minutes - o.spare
    half = begun + 0.6 * (ends - begun)
    first, known = [nets.BALL] + [random_genes(dice) for _ in range(3 if o.tiny else 15)], set()
    while time.time() < half or len(tried) < 4:
        genes = first.pop(0) if first else child(dice, parent(), parent())
        if text(genes) in known:
            continue
        known.add(text(genes))
        course = Course(nets.ball(genes), 3e-3)
        for step in range(steps):
            learn(course, step / steps)
        tried.append((genes, 1 - judge(course.result(), choose)[1], measure(o, course.mean)))
        print("ball: %.0f s, %d patches, %s: mean precision %.4f, %.0f us" % (time.time() - begun, feed.count, text(genes), 1 - tried[-1][1], tried[-1][2]), flush=True)
        if len(tried) % 10 == 0:
            table(o, tried, dominated)
    table(o, tried, dominated)
    # those that nobody dominates, and the one we had, learn on in turns; at most eight, spread over the costs
    front = sorted((t for t in tried[1:] if not dominated(t)), key=lambda t: t[2])
    finals = [tried[0]] + [front[int(k * (len(front) - 1) / 6 + 0.5)] for k in range(7)] if len(front) > 7 else [tried[0]] + front
    courses, start, turn = [Course(nets.ball(t[0]), 4e-3) for t in finals], time.time(), 0
    while time.time() < ends or turn < 2 * len(courses):
        learn(courses[turn % len(courses)], (time.time() - start) / max(ends - start, 1e-3))
        turn += 1
    kept = []
    for (genes, _, cost), course in zip(finals, courses):
        area = judge(course.result(), choose)[1]
        rows, tested = judge(course.mean, test, LIMITS)
        lines = ["layers: %s, %.0f us for 50 patches while all cores were busy" % (text(genes), cost),
                 "trained on %d patches (%d of balls), %d steps of %d" % (feed.count, int(y[:feed.count].sum()), course.steps, batch),
                 "mean precision %.4f (%d test patches)" % (tested, len(test.y))]
        lines += ["above %.1f: recall %.4f, precision %.4f" % (limit, *row) for limit, row in zip(LIMITS, rows)]
        course.mean.net["name"] = "search/" + text(genes)
        print(course.mean.net["name"] + "\n" + write(o.out, course.mean, ABOUT, command, lines), flush=True)
        kept.append((area, cost, course.mean, lines))
    affordable = [k for k in kept if k[1] <= kept[0][1]]
    best = max(affordable, key=lambda k: k[0])
    best[2].net["name"] = "ball"
    write(o.out, best[2], ABOUT, command, best[3])


def table(o, tried, dominated):
    with open(os.path.join(o.out, "search.csv"), "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["layers", "mean_precision", "us_50_patches", "dominated_by"])
        for t in sorted(tried, key=lambda t: t[2]):
            out.writerow([text(t[0]), "%.4f" % (1 - t[1]), "%.0f" % t[2], dominated(t)])
