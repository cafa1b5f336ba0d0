use super::*;
use crate::json::Tape;

#[test]
fn every_prefix_of_a_value_is_cut_and_not_wrong() {
    let text = r#"{"a": [1.5e+3, -2, true, null, NaN, -Infinity, "x\u00e9\n", {}], "b": ""}"#;
    let mut tape = Tape::default();
    assert_eq!(tape.parse(text, 0), Ok(text.len()));
    for end in 0..text.len() {
        assert_eq!(tape.parse(&text[..end], 0), Err(Fault::Cut), "{}", &text[..end]);
    }
}

#[test]
fn what_is_no_json_is_refused() {
    for text in [
        "[01]",
        "[1.]",
        "[+1]",
        "[.5]",
        "{a:1}",
        "{\"a\" 1}",
        "[1 2]",
        "[\"\t\"]",
        "{\"id\0\": 1}",
        "{\"id\\x\": 1}",
        "[\"\\x\"]",
        "[\"\\u12g4\"]",
        "nul]",
        "'a'",
    ] {
        assert!(matches!(Tape::default().parse(text, 0), Err(Fault::Wrong(_))), "{text}");
    }
    let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
    assert!(Tape::default().parse(&deep(DEEPEST), 0).is_ok());
    assert_eq!(Tape::default().parse(&deep(1_000_000), 0), Err(Fault::Wrong("nested too deeply")));
}

#[test]
fn many_bytes_at_once_are_passed_as_one_by_one() {
    let parts = ["plain text", "\\n", "\\\\", "\\\"", "\\u00e9", "\\ud83d\\ude00", "é", "\\/", "日本語", "\\t", " "];
    let mut state = 7_u64;
    for _ in 0..3_000 {
        let mut text = String::from("\"");
        for _ in 0..40 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push_str(parts[(state >> 33) as usize % parts.len()]);
        }
        // Something wrong in some of them, and a quote at the end of the others.
        text.push_str(["\"", "\t", "\\x", "\\u12g4", "", "\n\""][(state >> 40) as usize % 6]);
        text.push_str(&" ".repeat((state >> 50) as usize % 80));
        let slow = |text: &str| {
            let (bytes, mut at) = (text.as_bytes(), 1);
            loop {
                match bytes.get(at) {
                    Some(b'"') => return Ok(at + 1),
                    Some(b'\\') => at += escape(&bytes[at..]).map_err(|why| *why)?,
                    Some(b'\n') => return Err(LINE_BREAK),
                    Some(0..0x20) => return Err(CONTROL),
                    Some(_) => at += 1,
                    None => return Err(Fault::Cut),
                }
            }
        };
        assert_eq!(Tape::default().parse(&text, 0), slow(&text), "{text}");
        let blanked = text.replace(|c: char| c < ' ', " ");
        assert_eq!(Tape::default().parse_controls(&text, 0), slow(&blanked), "{text}");
    }
}
