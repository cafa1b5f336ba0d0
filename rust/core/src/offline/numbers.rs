//! Numbers of things as floats.

/// A position or a number of things as a float: exact below 2^53.
#[allow(clippy::cast_precision_loss)]
pub fn float(number: impl TryInto<i64>) -> f64 {
    number.try_into().unwrap_or(i64::MAX) as f64
}

/// 1 if so, else 0.
pub fn one_if(so: bool) -> f64 {
    f64::from(u8::from(so))
}
