//! A named setting's value, as a caller hands it in.

use crate::error::Error;

/// The value of one setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting<'a> {
    /// None: the setting is not known.
    Unset,
    /// A bool.
    Flag(bool),
    /// An integer.
    Number(i64),
    /// A word.
    Word(&'a str),
}

impl<'a> Setting<'a> {
    /// The bool.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for any other value.
    pub fn flag(self) -> Result<bool, Error> {
        if let Self::Flag(flag) = self { Ok(flag) } else { Err(self.expected("a bool")) }
    }

    /// The bool, or `None` where the setting is not known.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for any other value.
    pub fn known_flag(self) -> Result<Option<bool>, Error> {
        if self == Self::Unset { Ok(None) } else { self.flag().map(Some) }
    }

    /// The integer, in the range of its field.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for any other value, and for an integer outside of that range.
    pub fn number<T: TryFrom<i64>>(self) -> Result<T, Error> {
        let Self::Number(number) = self else { return Err(self.expected("an integer")) };
        T::try_from(number).map_err(|_| self.expected("an integer in range"))
    }

    /// The integer, or `None` where the setting is not known.
    ///
    /// # Errors
    ///
    /// As [`Setting::number`].
    pub fn known_number<T: TryFrom<i64>>(self) -> Result<Option<T>, Error> {
        if self == Self::Unset { Ok(None) } else { self.number().map(Some) }
    }

    /// The word.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for any other value.
    pub fn word(self) -> Result<&'a str, Error> {
        if let Self::Word(word) = self { Ok(word) } else { Err(self.expected("a string")) }
    }

    fn expected(self, what: &str) -> Error {
        Error::Argument(format!("expected {what}, got {self:?}"))
    }
}
