//! Values of rows and of parameters, the same for each database.

use super::Result;
use crate::error::StoreError;
use std::borrow::Cow;

/// One value of a row, or one parameter of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Null,
    /// Times and other numbers of 64 bits without sign stand here as the signed number of the same bits.
    Integer(i64),
    Text(Cow<'a, str>),
    Blob(Cow<'a, [u8]>),
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl From<$type> for Value<'_> {
            fn from(value: $type) -> Self {
                Self::Integer(value.into())
            }
        }
    )*};
}

integers!(u8, u32, i64);

impl From<u64> for Value<'_> {
    fn from(value: u64) -> Self {
        Self::Integer(value.cast_signed())
    }
}

impl From<Option<u32>> for Value<'_> {
    fn from(value: Option<u32>) -> Self {
        value.map_or(Self::Null, Self::from)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value.into())
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self::Blob(value.into())
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Value<'a> {
    fn from(value: &'a [u8; N]) -> Self {
        Self::Blob(value[..].into())
    }
}

impl From<Vec<u8>> for Value<'_> {
    fn from(value: Vec<u8>) -> Self {
        Self::Blob(value.into())
    }
}

/// What a value is read as.
pub(crate) trait FromValue: Sized {
    /// Returns `None` if the value is of another type, or out of range.
    fn from_value(value: Value<'static>) -> Option<Self>;
}

impl FromValue for i64 {
    fn from_value(value: Value<'static>) -> Option<Self> {
        match value {
            Value::Integer(value) => Some(value),
            _ => None,
        }
    }
}

impl FromValue for u64 {
    fn from_value(value: Value<'static>) -> Option<Self> {
        i64::from_value(value).map(i64::cast_unsigned)
    }
}

impl FromValue for u32 {
    fn from_value(value: Value<'static>) -> Option<Self> {
        i64::from_value(value)?.try_into().ok()
    }
}

impl FromValue for u8 {
    fn from_value(value: Value<'static>) -> Option<Self> {
        i64::from_value(value)?.try_into().ok()
    }
}

impl FromValue for String {
    fn from_value(value: Value<'static>) -> Option<Self> {
        match value {
            Value::Text(value) => Some(value.into_owned()),
            _ => None,
        }
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: Value<'static>) -> Option<Self> {
        match value {
            Value::Blob(value) => Some(value.into_owned()),
            _ => None,
        }
    }
}

impl<const N: usize> FromValue for [u8; N] {
    fn from_value(value: Value<'static>) -> Option<Self> {
        Vec::from_value(value)?.try_into().ok()
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value<'static>) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}

/// One row that was read: its values are taken in their order.
pub(crate) struct Row(std::vec::IntoIter<Value<'static>>);

impl Row {
    pub(crate) fn new(values: Vec<Value<'static>>) -> Self {
        Self(values.into_iter())
    }

    /// All values that were not taken.
    pub(crate) fn into_values(self) -> Vec<Value<'static>> {
        self.0.collect()
    }

    /// Takes the next value.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if it is of another type, out of range, or missing.
    pub(crate) fn take<T: FromValue>(&mut self) -> Result<T> {
        let taken = self.0.next().and_then(T::from_value);
        taken.ok_or_else(|| StoreError::Damaged("a value of the database has another type".into()))
    }
}
