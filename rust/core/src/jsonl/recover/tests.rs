use super::*;

const TEXTS: [&str; 11] = [
    r#"{"a": [1, {"b": "c"}]} , {"next": 1}"#,
    "[{\"a\": \"\\\"]\"}, {\"a\": no, \"b\": [1]}, {\"a\": 2}]\n{}",
    "{\"info\": {}, \"messages\": [{\"a\": 1}, {\"a\": \u{1}}, {\"a\": 2} {\"a\": 3}], \"b\": nope, \"c\": 1}\n",
    "{\"steps\": [{\"a\": 1}, {\"a\" 2} 3\n{\"x\": 1}\n",
    "[{\"a\": 1}, {\"a\": no\n{\"x\": 1}\n",
    "{\"input\": \"hi\", oops}\n{\"x\": 1}",
    "\"word\" and more\n{}",
    "{\"a\": [1,\n{\"x\": 1}\n",
    "\0\0 {\"a\": \"b\nc\"}\0\n\0\n{\"x\": 1}\n",
    "{\"a\": \"b{\"a\": 1}\n{\"x\": 1}\n",
    "[{\"a\": \"b\nc\"}, {\"a\": \"b\nc\"\n{\"x\": 1}]\n",
];

#[test]
fn an_answer_does_not_depend_on_bytes_that_were_not_given() {
    for text in TEXTS {
        let whole = recover(text.as_bytes(), true, false).expect("the text is complete");
        for end in 0..text.len() {
            if let Some(found) = recover(&text.as_bytes()[..end], false, false) {
                assert_eq!(found, whole, "{:?}", &text[..end]);
            }
        }
    }
}

#[test]
fn what_follows_a_damaged_record_is_found_at_its_start() {
    let found = |text: &str| {
        let found = recover(text.as_bytes(), true, false).expect("the text is complete");
        let defects: Vec<_> = found.defects.iter().map(|defect| (defect.at, defect.is_read)).collect();
        (String::from_utf8_lossy(&found.json).into_owned(), found.end, defects)
    };
    assert_eq!(found(TEXTS[8]), (r#"{"a": "b\nc"}"#.to_owned(), 15, vec![(0, true), (3, true)]));
    assert_eq!(found(&TEXTS[8][15..]), (String::new(), 1, vec![(0, false)]));
    assert_eq!(found(TEXTS[9]), (String::new(), 8, vec![(0, false)]));
    assert_eq!(found(&TEXTS[9][8..]), (r#"{"a": 1}"#.to_owned(), 8, vec![]));
    assert_eq!(found(TEXTS[10]).2, [(1, true), (15, false), (37, false)]);
}

#[test]
fn a_broken_value_keeps_its_intact_entries() {
    let found = |text: &[u8]| {
        let found = recover(text, true, false).expect("the text is complete");
        (String::from_utf8_lossy(&found.json).into_owned(), found.end, found.defects.len())
    };
    assert_eq!(found(TEXTS[1].as_bytes()), (r#"[{"a": "\"]"},{"a": 2}]"#.to_owned(), 45, 1));
    assert_eq!(found(TEXTS[3].as_bytes()), (r#"{"steps":[{"a": 1}]}"#.to_owned(), 30, 2));
    assert_eq!(found(TEXTS[5].as_bytes()), (r#"{"input":"hi"}"#.to_owned(), 21, 1));
    assert_eq!(found(TEXTS[6].as_bytes()), (String::new(), 16, 1));
    assert_eq!(found(b"[{\"a\": \"\xff\"}, {\"a\": \"\xed\xa0\x80\"}, {\"a\": \"\xe2\x82").2, 2);
}
