//! Parts of the engine where whole runs are too coarse.

mod flow;
mod memory;
mod sequence;
