//! The program `clew`: commands, captures, clocks, files and terminals.
