//! The time of a line.

/// When a line was written.
#[derive(Clone, Debug, PartialEq)]
pub enum Time {
    /// Seconds since 1970.
    Seconds(f64),
    /// As it stands in the file, if it has another form than Claude Code's.
    Text(Vec<u8>),
}

impl Time {
    /// The time that a line names.
    pub fn of(text: &[u8]) -> Self {
        seconds(text).map_or_else(|| Self::Text(text.to_vec()), Self::Seconds)
    }
}

/// Years whose microseconds are exact in a float.
const YEARS: std::ops::Range<i64> = 1970..2200;

/// The seconds since 1970 of a time such as `2026-01-31T23:59:59.999Z`; `None` of any other form.
#[allow(clippy::cast_precision_loss)] // up to the last of these years they are exact
fn seconds(text: &[u8]) -> Option<f64> {
    const FORM: &[u8; 24] = b"0000-00-00T00:00:00.000Z";
    let is_like = |(byte, form): (&u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form };
    if text.len() != FORM.len() || !text.iter().zip(FORM).all(is_like) {
        return None;
    }
    let number =
        |from: usize, to: usize| text[from..to].iter().fold(0, |all, digit| all * 10 + i64::from(digit - b'0'));
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let (hour, minute, second) = (number(11, 13), number(14, 16), number(17, 19));
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = [31, 28 + i64::from(is_leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let months = usize::try_from(month).ok()?.checked_sub(1)?;
    let in_month = days.get(months)?;
    if !YEARS.contains(&year) || !(1..=*in_month).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let before = year - 1;
    let leaps = (before / 4 - before / 100 + before / 400) - (1969 / 4 - 1969 / 100 + 1969 / 400);
    let day = (year - 1970) * 365 + leaps + days[..months].iter().sum::<i64>() + day - 1;
    let milliseconds = (((day * 24 + hour) * 60 + minute) * 60 + second) * 1_000 + number(20, 23);
    Some((milliseconds * 1_000) as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_its_seconds_and_any_other_form_is_its_text() {
        for (text, time) in [
            ("1970-01-01T00:00:00.000Z", 0.0),
            ("2000-02-29T12:00:00.000Z", 951_825_600.0),
            ("2024-12-31T23:59:59.999Z", 1_735_689_599.999),
        ] {
            assert_eq!(Time::of(text.as_bytes()), Time::Seconds(time), "{text}");
        }
        for text in ["2025-02-29T12:00:00.000Z", "2026-01-01T24:00:00.000Z", "2026-01-01", "2026-01-01T00:00:00+00:00"]
        {
            assert_eq!(Time::of(text.as_bytes()), Time::Text(text.as_bytes().to_vec()), "{text}");
        }
    }
}
