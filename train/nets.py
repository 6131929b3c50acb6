"""The two networks, layer by layer, as a description that PyTorch (train.py) and the ONNX file are both made from.

heat maps: SweatyNet (Schnekenburger et al. 2017) at any width, half of it in models/heat.onnx: an encoder with links past each stage, a decoder that
brings back a quarter of the size, one heat map a class. Deviations: widths are multiples of 8, upsampling has half-pixel
centres, batch normalisation is folded into the weights of the file, and a heat map is a probability (sigmoid).

ball: a patch of 32 x 32 grey pixels to the probability that it shows a ball; search.py tries other layers.

A layer is (output, kind, inputs, settings); conv: channels, kernel, relu.
"""

CLASSES = ["ball", "post", "x_crossing", "penalty_mark", "l_crossing", "t_crossing", "robot", "obstacle"]
PATCH = 32  # pixels a side


def sweaty(width=0.5, name="heat"):
    def c(n):
        return max(8, int(n * width / 8 + 0.5) * 8)

    layers = []

    def conv(name, source, channels, kernel=3, relu=True):
        layers.append((name, "conv", [source], dict(channels=channels, kernel=kernel, relu=relu)))
        return name

    def simple(name, kind, *sources):
        layers.append((name, kind, list(sources), {}))
        return name

    x = conv("c1", "image", c(8))
    d1 = simple("d1", "pool", x)
    x = conv("c3", conv("c2", d1, c(16)), c(16))
    d2 = simple("d2", "pool", simple("j1", "concat", d1, x))
    x = conv("c5", conv("c4", d2, c(32)), c(32))
    s1 = simple("s1", "concat", d2, x)
    d3 = simple("d3", "pool", s1)
    x = conv("c8", conv("c7", conv("c6", d3, c(64)), c(64)), c(64))
    s2 = simple("s2", "concat", d3, x)
    x = simple("d4", "pool", s2)
    x = conv("c12", conv("c11", conv("c10", conv("c9", x, c(128)), c(128)), c(128)), c(64))
    x = simple("j2", "concat", simple("u1", "up", x), s2)
    x = conv("c15", conv("c14", conv("c13", x, c(64), 1), c(32)), c(32))
    x = simple("j3", "concat", simple("u2", "up", x), s1)
    conv("logit", conv("c17", conv("c16", x, c(16), 1), c(16)), len(CLASSES), relu=False)
    simple("heat", "sigmoid", "logit")
    return dict(name=name, input=("image", ["batch", 3, "height", "width"]), layers=layers, output="heat",
                shape=["batch", len(CLASSES), "map_height", "map_width"])


BALL = dict(convs=[(8, 3, True), (16, 3, True), (16, 3, True), (32, 3, True)], dense=16)


def ball(genes=BALL):
    """genes: convs, each with channels, kernel and whether a pool follows; the numbers of the dense layer, 0: none."""
    layers, x = [], "patch"
    for i, (channels, kernel, pool) in enumerate(genes["convs"]):
        layers.append(("c%d" % i, "conv", [x], dict(channels=channels, kernel=kernel, relu=True)))
        x = "c%d" % i
        if pool:
            layers.append(("p%d" % i, "pool", [x], {}))
            x = "p%d" % i
    side = PATCH >> sum(pool for _, _, pool in genes["convs"])
    layers.append(("flat", "flatten", [x], dict(pixels=side * side)))
    if genes["dense"]:
        layers.append(("f0", "dense", ["flat"], dict(channels=genes["dense"], relu=True)))
    layers += [("f1", "dense", [layers[-1][0]], dict(channels=1, relu=False)), ("probability", "sigmoid", ["f1"], {})]
    return dict(name="ball", input=("patch", ["batch", 1, PATCH, PATCH]), layers=layers, output="probability",
                shape=["batch", 1])


def channels_of(net):
    """Channels (of dense layers: numbers) that each value has."""
    channels = {net["input"][0]: net["input"][1][1]}
    for name, kind, sources, settings in net["layers"]:
        channels[name] = settings.get("channels") or sum(channels[s] for s in sources) * settings.get("pixels", 1)
    return channels


def to_onnx(net, weights, notes=()):
    """weights: name of a conv or dense layer to (numbers, bias), flat lists or bytes of floats; notes: (key, text)."""
    from onnx_file import OnnxFile

    file, channels = OnnxFile(), channels_of(net)
    file.input(*net["input"])
    for name, kind, sources, s in net["layers"]:
        last = name + "_sum" if s.get("relu") else name
        if kind in ("conv", "dense"):
            shape = [s["channels"], channels[sources[0]]] + ([s["kernel"]] * 2 if kind == "conv" else [])
            w, b = weights[name]
            inputs = [sources[0], file.constant(name + "_w", shape, w), file.constant(name + "_b", shape[:1], b)]
            if kind == "conv":
                file.add("Conv", inputs, last, kernel_shape=[s["kernel"]] * 2, pads=[s["kernel"] // 2] * 4)
            else:
                file.add("Gemm", inputs, last, transB=1)
            if s["relu"]:
                file.add("Relu", [last], name)
        elif kind == "pool":
            file.add("MaxPool", sources, name, kernel_shape=[2, 2], strides=[2, 2])
        elif kind == "concat":
            file.add("Concat", sources, name, axis=1)
        elif kind == "up":
            scales = file.constant(name + "_scales", [4], [1.0, 1.0, 2.0, 2.0])
            file.add("Resize", [sources[0], "", scales], name, mode="linear", coordinate_transformation_mode="half_pixel")
        elif kind == "flatten":
            file.add("Flatten", sources, name)
        elif kind == "sigmoid":
            file.add("Sigmoid", sources, name)
    file.output(net["output"], net["shape"])
    for key, text in notes:
        file.note(key, text)
    return file.bytes()


def random_weights(net, seed=1):
    """For measuring speed before anything has been trained."""
    import random

    dice, channels, weights = random.Random(seed), channels_of(net), {}
    for name, kind, sources, s in net["layers"]:
        if kind in ("conv", "dense"):
            n = channels[sources[0]] * s.get("kernel", 1) ** 2
            scale = (6.0 / n) ** 0.5
            weights[name] = ([dice.uniform(-scale, scale) for _ in range(n * s["channels"])], [0.1] * s["channels"])
    return weights
