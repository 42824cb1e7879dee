//! What is not printed.

/// Implements `Debug` for types that hold secrets, or nothing worth reading: it writes `Name(..)`.
///
/// ```
/// struct Key([u8; 32]);
/// clew_wire::opaque!(Key);
/// assert_eq!(format!("{:?}", Key([7; 32])), "Key(..)");
/// ```
#[macro_export]
macro_rules! opaque {
    ($Name:ident) => {
        impl ::core::fmt::Debug for $Name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(concat!(stringify!($Name), "(..)"))
            }
        }
    };
}
