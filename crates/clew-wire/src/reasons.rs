//! Lists of rules, and counters for them.

/// Defines the rules of a specification, and `Counters` of how often each was met.
///
/// ```
/// clew_wire::reasons! {
///     /// The one rule that decided about a packet, in the order of the specification.
///     pub enum Reason {
///         Ok = "ok": "It is valid.",
///         BadLength = "bad-length": "It is too short.",
///     }
/// }
///
/// let mut counters = Counters::new();
/// counters.count(Reason::BadLength);
/// assert_eq!(counters.iter().collect::<Vec<_>>(), [(Reason::BadLength, 1)]);
/// assert_eq!(Reason::BadLength.to_string(), "bad-length");
/// ```
#[macro_export]
macro_rules! reasons {
    (
        $(#[$about:meta])*
        pub enum $Reason:ident {
            $($name:ident = $text:literal: $doc:literal,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $Reason {
            $(#[doc = $doc] $name,)*
        }

        impl $Reason {
            /// Every reason, in order.
            pub const ALL: [Self; [$($text),*].len()] = [$(Self::$name),*];

            /// Returns the name in kebab case, as it stands in the specification.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// Returns what it means, in a sentence.
            pub const fn about(self) -> &'static str {
                match self {
                    $(Self::$name => $doc,)*
                }
            }
        }

        impl ::core::fmt::Display for $Reason {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        /// How often each reason was met. No counter overflows.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Counters([u64; $Reason::ALL.len()]);

        impl Counters {
            /// Returns counters that are all zero.
            pub const fn new() -> Self {
                Self([0; $Reason::ALL.len()])
            }

            /// Counts `reason` once.
            pub const fn count(&mut self, reason: $Reason) {
                self.add(reason, 1);
            }

            /// Counts `reason` so many times.
            pub const fn add(&mut self, reason: $Reason, times: u64) {
                let counter = &mut self.0[reason as usize];
                *counter = counter.saturating_add(times);
            }

            /// Returns how often `reason` was met.
            pub const fn of(&self, reason: $Reason) -> u64 {
                self.0[reason as usize]
            }

            /// Iterates over the reasons that were met, in order.
            pub fn iter(&self) -> impl Iterator<Item = ($Reason, u64)> + '_ {
                let all = $Reason::ALL.into_iter().zip(self.0);
                all.filter(|(_, times)| *times > 0)
            }
        }

        impl ::core::ops::AddAssign<&Self> for Counters {
            fn add_assign(&mut self, more: &Self) {
                for (counter, more) in self.0.iter_mut().zip(more.0) {
                    *counter = counter.saturating_add(more);
                }
            }
        }

        impl Default for Counters {
            fn default() -> Self {
                Self::new()
            }
        }
    };
}
