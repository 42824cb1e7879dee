//! The figures of the design's simulation of loss (flow signatures, 4.1): 2^20 packets on each line.

use crate::loss::Loss;

/// Its lines: 0, 0.1, 1 and 5 per cent, and bursty ones of 1 and 5.
const LINES: [&str; 6] = ["0", "0.1", "1", "5", "b1", "b5"];

/// By the names of schemes: bytes for a packet, and microseconds for a received packet on each line.
const FIGURES: [(&str, f64, [Option<f64>; 6]); 13] = [
    ("each", 240.0, all([1001.0; 6])),
    (
        "window-8",
        260.0,
        all([126.0, 132.0, 185.0, 388.0, 141.0, 202.0]),
    ),
    (
        "window-8-best",
        260.0,
        all([126.0, 126.0, 132.0, 191.0, 127.0, 135.0]),
    ),
    (
        "window-64",
        260.0,
        all([16.3, 77.0, 478.0, 961.0, 161.0, 566.0]),
    ),
    (
        "window-64-best",
        260.0,
        all([16.3, 18.8, 147.0, 836.0, 28.0, 219.0]),
    ),
    (
        "tree-8-full",
        308.0,
        all([126.0, 126.0, 127.0, 132.0, 127.0, 131.0]),
    ),
    ("tree-64-full", 356.0, TREE_64),
    (
        "tree-256-full",
        388.0,
        all([4.57, 4.57, 4.61, 4.77, 4.6, 4.8]),
    ),
    ("tree-64-sparse-4", 131.0, TREE_64),
    ("tree-64-coded-25", 131.0, TREE_64),
    ("saida-64-50", 60.0, saida(17.1)),
    ("saida-64-75", 47.0, saida(17.1)),
    ("saida-64-90", 42.0, saida(16.5)),
];

const TREE_64: [Option<f64>; 6] = all([16.3, 16.3, 16.4, 17.1, 16.4, 17.1]);

const fn all(us: [f64; 6]) -> [Option<f64>; 6] {
    let [a, b, c, d, e, f] = us;
    [Some(a), Some(b), Some(c), Some(d), Some(e), Some(f)]
}

/// On bursty lines it has only how many packets can be verified.
const fn saida(five: f64) -> [Option<f64>; 6] {
    [Some(16.3), Some(16.3), Some(16.4), Some(five), None, None]
}

/// Bytes for a packet.
pub fn bytes(scheme: &str) -> Option<f64> {
    let (_, bytes, _) = FIGURES.iter().find(|(name, ..)| *name == scheme)?;
    Some(*bytes)
}

/// Microseconds for a received packet.
pub fn us(scheme: &str, loss: Loss) -> Option<f64> {
    let (.., figures) = FIGURES.iter().find(|(name, ..)| *name == scheme)?;
    let line = loss.name();
    figures[LINES.iter().position(|l| *l == line)?]
}
