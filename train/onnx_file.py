"""Writes ONNX files with nothing but Python: the few messages of Protocol Buffers that a network needs."""
import struct

FLOAT, INT64 = 1, 7


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    """A field: an integer, or bytes or text with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    out = field(1, name)
    if isinstance(value, float):
        return out + varint(2 << 3 | 5) + struct.pack("<f", value) + field(20, 1)
    if isinstance(value, int):
        return out + field(3, value) + field(20, 2)
    if isinstance(value, str):
        return out + field(4, value) + field(20, 3)
    return out + b"".join(field(8, i) for i in value) + field(20, 7)


class OnnxFile:
    """Nodes are added in the order in which they run; add() returns the name of the output."""

    def __init__(self, opset=13):
        self.opset, self.nodes, self.constants, self.ends, self.notes = opset, [], [], {11: [], 12: []}, []

    def _end(self, number, name, shape):
        dims = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in shape)
        kind = field(1, field(1, FLOAT) + field(2, dims))
        self.ends[number].append(field(1, name) + field(2, kind))
        return name

    def input(self, name, shape):
        return self._end(11, name, shape)

    def output(self, name, shape):
        return self._end(12, name, shape)

    def constant(self, name, shape, numbers):
        """Floats, or integers where all numbers are int; numbers as a flat list or as bytes of floats."""
        whole = not isinstance(numbers, bytes) and all(isinstance(n, int) for n in numbers)
        raw = numbers if isinstance(numbers, bytes) else struct.pack("<%d%s" % (len(numbers), "q" if whole else "f"), *numbers)
        dims = b"".join(field(1, d) for d in shape)
        self.constants.append(dims + field(2, INT64 if whole else FLOAT) + field(8, name) + field(9, raw))
        return name

    def add(self, operator, inputs, output, **attributes):
        node = b"".join(field(1, i) for i in inputs) + field(2, output) + field(3, output) + field(4, operator)
        self.nodes.append(node + b"".join(field(5, attribute(k, v)) for k, v in attributes.items()))
        return output

    def note(self, key, text):
        self.notes.append(field(1, key) + field(2, text))

    def bytes(self):
        graph = b"".join(field(1, n) for n in self.nodes) + field(2, "net")
        graph += b"".join(field(5, c) for c in self.constants)
        graph += b"".join(field(n, e) for n in (11, 12) for e in self.ends[n])
        model = field(1, 8) + field(2, "nutmeg") + field(7, graph) + field(8, field(2, self.opset))
        return model + b"".join(field(14, n) for n in self.notes)
