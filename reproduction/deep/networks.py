"""Networks of the paper's image experiments, without their last layer, and the two together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor, nn

from reproduction.deep.heads import head_scores
from sdgm.nn import SparseLinear

# widths and sizes of the kernels, from the authors' demo, since the paper gives none; but the last
# convolution sees one pixel, where a kernel of three would use its middle only
CNN_LAYERS = ((32, 5), (32, 3), (64, 3), (64, 3), (128, 1))
# first layer of DenseNet, and of its blocks
DENSE_START, DENSE_BLOCKS = 16, 3
# the CNN for CIFAR: channels of its blocks, each with two convolutions
BLOCKS = (32, 128, 256)
# channels of the blocks of a smaller one, which is trained on few images
SMALL_BLOCKS = (32, 64, 128)
# the patches that are whitened before its first block, and what is added to their variances
PATCH, PATCH_RIDGE = 2, 5e-4
# of batch normalisation's averages: short training has few steps to forget
FAST_MOMENTUM = 0.4
# MobileNet v1: channels and strides of the separable convolutions
MOBILE_LAYERS = (
    *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)),
    *((512, 1),) * 5,
    *((1024, 2), (1024, 1)),
)
MOBILE_START = 32


class Classifier(nn.Module):
    """A network and a last layer.

    Parameters
    ----------
    net : Module
        From images to feature vectors.
    head : Module
        From feature vectors to class scores; see `make_head`.

    Examples
    --------
    >>> from reproduction.deep.heads import make_head
    >>> model = Classifier(small_cnn(2), make_head("sdgm", 2, 10, n_components=2))
    >>> model.eval()(torch.zeros(3, 1, 28, 28)).shape
    torch.Size([3, 10])
    """

    def __init__(self, net: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.net = net
        self.head = head

    def forward(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        """Class scores: (N, C); the labels go to heads that need them in training."""
        return head_scores(self.head, self.net(x), y)


def small_cnn(
    out_features: int, *, batch_norm: bool = True, normalize_features: bool = False
) -> nn.Sequential:
    """The paper's CNN for MNIST: five convolutions, max-pooling after four, one linear layer.

    Parameters
    ----------
    out_features : int
        D; the paper has 2 and 10.
    batch_norm : bool, default=True
        Whether the convolutions' results are normalised. Pooling comes first, which saves a third
        of the time.
    normalize_features : bool, default=False
        Whether the features themselves are normalised, before the last layer.

    Examples
    --------
    >>> small_cnn(10)(torch.zeros(3, 1, 28, 28)).shape
    torch.Size([3, 10])
    """
    layers: list[nn.Module] = []
    before = 1
    for i, (width, kernel) in enumerate(CNN_LAYERS):
        layers.append(nn.Conv2d(before, width, kernel, padding=kernel // 2))
        if i < len(CNN_LAYERS) - 1:
            layers.append(nn.MaxPool2d(2))  # sides of 14, 7, 3, 1
        layers += [nn.BatchNorm2d(width)] if batch_norm else []
        layers.append(nn.ReLU())
        before = width
    layers += [nn.Flatten(), nn.Linear(before, out_features)]
    if normalize_features:
        layers.append(nn.BatchNorm1d(out_features, affine=False))
    return nn.Sequential(*layers)


def block_cnn(blocks: Sequence[int] = BLOCKS) -> nn.Module:
    """A CNN for images of 32 x 32 that a processor can train: blocks of two convolutions.

    What is known to make short training better: patches of the images are whitened first, filters
    start as the identity, normalisation has no scale, and pooling follows the first convolution of
    a block, which halves the time. The features are the largest values of the last maps. The
    arithmetic is in bfloat16 where the processor has instructions for it, the features are in
    single precision.

    Parameters
    ----------
    blocks : sequence of int, default=(32, 128, 256)
        Channels.

    Examples
    --------
    >>> block_cnn((32, 8))(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 8])
    """
    whitening = PatchWhitening(3)
    layers: list[nn.Module] = [whitening, nn.GELU()]
    before = whitening.out_channels
    for width in blocks:
        layers += [identity_convolution(before, width), nn.MaxPool2d(2), *activated(width)]
        layers += [identity_convolution(width, width), *activated(width)]
        before = width
    return HalfPrecision(nn.Sequential(*layers, nn.AdaptiveMaxPool2d(1), nn.Flatten()))


def plain_cnn(blocks: Sequence[int] = SMALL_BLOCKS) -> nn.Module:
    """A CNN for images of 32 x 32 as in textbooks: blocks of two convolutions, and max-pooling.

    The features are the means of the last maps. The arithmetic is that of `block_cnn`.

    Parameters
    ----------
    blocks : sequence of int, default=(32, 64, 128)
        Channels.

    Examples
    --------
    >>> plain_cnn((4, 8))(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 8])
    """
    layers: list[nn.Module] = []
    before = 3
    for width in blocks:
        for channels in (before, width):
            layers += normalized(nn.Conv2d(channels, width, 3, padding=1, bias=False))
        layers.append(nn.MaxPool2d(2))
        before = width
    return HalfPrecision(nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten()))


def identity_convolution(before: int, after: int) -> nn.Conv2d:
    """A convolution that starts by letting through as many channels as it can."""
    convolution = nn.Conv2d(before, after, 3, padding=1, bias=False)
    nn.init.dirac_(convolution.weight[:before])
    return convolution


def activated(width: int) -> list[nn.Module]:
    """Normalisation with a constant but no scale, and GELU."""
    norm = nn.BatchNorm2d(width, momentum=FAST_MOMENTUM)
    norm.weight.requires_grad_(False)
    return [norm, nn.GELU()]


class PatchWhitening(nn.Conv2d):
    """Principal components of small patches with variance one, and their negatives; not trained.

    Parameters
    ----------
    channels : int

    Examples
    --------
    >>> torch.manual_seed(0)  # doctest: +ELLIPSIS
    <...>
    >>> layer, images = PatchWhitening(3), 5.0 * torch.randn(64, 3, 8, 8)
    >>> layer.fit(images)
    >>> bool((layer(images).var(dim=(0, 2, 3)) - 1.0).abs().max() < 0.1)
    True
    """

    def __init__(self, channels: int) -> None:
        super().__init__(channels, 2 * channels * PATCH**2, PATCH, bias=False)
        self.weight.requires_grad_(False)

    @torch.no_grad()
    def fit(self, images: Tensor) -> None:
        """Take the components of the patches of these images, whose mean is taken as zero."""
        patches = nn.functional.unfold(images, PATCH).movedim(1, 2).flatten(0, 1)
        variances, axes = torch.linalg.eigh((patches.T @ patches / len(patches)).double())
        filters = (axes / (variances + PATCH_RIDGE).sqrt()).T.reshape(-1, *self.weight.shape[1:])
        self.weight.copy_(torch.cat([filters, -filters]))


class HalfPrecision(nn.Module):
    """A network in bfloat16 on processors that have it (avx512_bf16), with results in float32."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        """What the network gives, in single precision."""
        with torch.autocast(x.device.type, torch.bfloat16, enabled=has_bfloat16()):
            return self.net(x).float()


@cache
def has_bfloat16() -> bool:
    """Whether this processor has instructions for bfloat16; without them it is slower."""
    return bool(torch.cpu.get_capabilities().get("avx512_bf16", False))


def lenet_300_100(*, sparse: bool = False) -> nn.Sequential:
    """Two linear layers, to 300 and 100 features, for images of 784 pixels.

    Parameters
    ----------
    sparse : bool, default=False
        Whether they have sparse variational dropout.

    Examples
    --------
    >>> lenet_300_100()(torch.zeros(3, 1, 28, 28)).shape
    torch.Size([3, 100])
    """
    linear = SparseLinear if sparse else nn.Linear
    return nn.Sequential(nn.Flatten(), linear(784, 300), nn.ReLU(), linear(300, 100), nn.ReLU())


class DenseLayer(nn.Module):
    """Normalise, ReLU, convolve; the result is put beside the input."""

    def __init__(self, channels: int, growth: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.conv = nn.Conv2d(channels, growth, 3, padding=1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Channels grow by ``growth``."""
        return torch.cat([x, self.conv(self.norm(x).relu())], dim=1)


def densenet(depth: int = 40, growth: int = 12) -> nn.Sequential:
    """DenseNet for images of 32 x 32, without bottlenecks: 448 features with the paper's numbers.

    Parameters
    ----------
    depth, growth : int
        The depth is four more than a multiple of three.

    References
    ----------
    G. Huang, Z. Liu, L. van der Maaten and K. Weinberger, "Densely Connected Convolutional
    Networks", CVPR 2017.

    Examples
    --------
    >>> densenet(depth=7, growth=4)(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 28])
    """
    if depth < 7 or (depth - 4) % DENSE_BLOCKS:
        raise ValueError(
            f"depth must be four more than a multiple of three, got {depth}; 40 is usual."
        )
    channels = DENSE_START
    layers: list[nn.Module] = [nn.Conv2d(3, channels, 3, padding=1, bias=False)]
    for block in range(DENSE_BLOCKS):
        for _ in range((depth - 4) // DENSE_BLOCKS):
            layers.append(DenseLayer(channels, growth))
            channels += growth
        layers += [nn.BatchNorm2d(channels), nn.ReLU()]
        if block < DENSE_BLOCKS - 1:
            layers += [nn.Conv2d(channels, channels, 1, bias=False), nn.AvgPool2d(2)]
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return with_normal_start(net)


def mobilenet(width: float = 1.0) -> nn.Sequential:
    """MobileNet v1 for images of 224 x 224: 1024 features at width 1.

    Parameters
    ----------
    width : float, default=1.0
        Factor of all channels.

    References
    ----------
    A. Howard et al., "MobileNets: Efficient Convolutional Neural Networks for Mobile Vision
    Applications", 2017.

    Examples
    --------
    >>> mobilenet(width=0.125)(torch.zeros(2, 3, 64, 64)).shape
    torch.Size([2, 128])
    """
    before = max(1, round(width * MOBILE_START))
    layers = normalized(nn.Conv2d(3, before, 3, stride=2, padding=1, bias=False))
    for channels, stride in MOBILE_LAYERS:
        after = max(1, round(width * channels))
        layers += normalized(
            nn.Conv2d(before, before, 3, stride=stride, padding=1, groups=before, bias=False)
        )
        layers += normalized(nn.Conv2d(before, after, 1, bias=False))
        before = after
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return with_normal_start(net)


def normalized(conv: nn.Conv2d) -> list[nn.Module]:
    """A convolution, its normalisation and ReLU."""
    return [conv, nn.BatchNorm2d(conv.out_channels), nn.ReLU()]


def with_normal_start(net: nn.Sequential) -> nn.Sequential:
    """Convolutions started as in He et al. (2015), which deep networks need."""
    for module in net.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight)
    return net
