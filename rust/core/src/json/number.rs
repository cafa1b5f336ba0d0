//! A float as Python writes it.

/// Python's `repr` of the float that `text` stands for; `Infinity` past the largest, as `json.dumps` writes it.
pub fn float(text: &str) -> String {
    let value: f64 = text.parse().unwrap_or(f64::NAN); // the parser has seen that it is a number
    if value.is_infinite() {
        return if value < 0.0 { "-Infinity" } else { "Infinity" }.to_owned();
    }
    // The shortest digits that mean this number are the same in both languages; where the point goes is not.
    let scientific = nearest(value, format!("{value:e}"));
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = digits.chars().filter(char::is_ascii_digit).collect();
    if !(-4..16).contains(&exponent) {
        let point = if digits.len() > 1 { "." } else { "" };
        let way = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{}{point}{}e{way}{:02}", &digits[..1], &digits[1..], exponent.abs());
    }
    let Ok(whole) = usize::try_from(exponent + 1) else {
        return format!("{sign}0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1));
    };
    match digits.len() {
        _ if whole == 0 => format!("{sign}0.{digits}"),
        n if n <= whole => format!("{sign}{digits}{}.0", "0".repeat(whole - n)),
        _ => format!("{sign}{}.{}", &digits[..whole], &digits[whole..]),
    }
}

/// The number in as many digits as the shortest text has: where two texts are as near, Python's last digit is even.
fn nearest(value: f64, shortest: String) -> String {
    let digits = shortest.split('e').next().map_or(0, |digits| digits.bytes().filter(u8::is_ascii_digit).count());
    let even = format!("{value:.*e}", digits.saturating_sub(1));
    if even.parse() == Ok(value) { even } else { shortest } // at a power of two the nearest text may mean another number
}

#[cfg(test)]
mod tests {
    use super::float;

    #[test]
    fn floats_are_written_as_python_writes_them() {
        for (text, written) in [
            ("0.0", "0.0"),
            ("-0.0", "-0.0"),
            ("1.50", "1.5"),
            ("0.1", "0.1"),
            ("0.012", "0.012"),
            ("0.00012", "0.00012"),
            ("0.000012", "1.2e-05"),
            ("123456.789", "123456.789"),
            ("1e15", "1000000000000000.0"),
            ("1e16", "1e+16"),
            ("1.5e300", "1.5e+300"),
            ("5e-324", "5e-324"),
            ("-1e999", "-Infinity"),
            ("161988484045326.62", "161988484045326.62"), // .625: .62 and .63 are as near
            ("-161988484045326.62", "-161988484045326.62"),
            ("2.2250738585072014e-308", "2.2250738585072014e-308"),
        ] {
            assert_eq!(float(text), written, "{text}");
        }
    }
}
