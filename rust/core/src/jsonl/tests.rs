use super::*;
use trimtab_tokens::Encoding;

const HI: &str = r#"{"role": "user", "content": "hi\nthere \u00e9"}"#;
const USE: &str =
    r#"{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"x": [1.0]}}]}"#;
const GAVE: &str = r#"{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "ok"}]}"#;

fn read(parts: &[&[u8]]) -> Reading<Ledger> {
    let mut reader = Reader::new(Counter::from(Encoding::O200k), None);
    for part in parts {
        reader.push(part).unwrap();
    }
    reader.finish().unwrap()
}

fn places(reading: &Reading<Ledger>) -> Vec<(u64, u64, &str)> {
    reading.skipped.iter().map(|skip| (skip.line, skip.offset, skip.reason)).collect()
}

#[test]
fn a_list_and_lines_and_values_in_any_order_are_the_same_ledger() {
    let lines = read(&[format!("{HI}\n{USE}\n\n{GAVE}").as_bytes()]);
    assert_eq!(
        (lines.provider, lines.found.messages(), lines.found.pair.as_slice()),
        (Provider::Anthropic, 3, &[-1, 2, 1][..])
    );
    for text in [
        format!("[{HI},{USE},{GAVE}]"),
        format!(" [\n  {HI},\r\n  {USE} ,\n  {GAVE}\n]\n"),
        format!("\u{feff}{HI}{USE} {GAVE}\r\n"),
        format!("{}\n{USE}\n{GAVE}", HI.replace(", ", ",\n  ")),
        format!("[{HI}]\n[{USE}, {GAVE}]"),
    ] {
        let found = read(&[text.as_bytes()]);
        assert_eq!((found.found == lines.found, places(&found)), (true, vec![]), "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_named_and_all_else_is_kept() {
    let text = [
        b"\xef\xbb\xbf[INFO] start\n",
        HI.as_bytes(),
        b"\n\"word\"\n\xff\xfe\n{\"a\": 01}\n",
        USE.as_bytes(),
        b"\n{\"role\": \"us",
    ]
    .concat();
    let found = read(&[&text]);
    assert_eq!(found.found.messages(), 2);
    let reasons: Vec<_> = found.skipped.iter().map(|skip| (skip.line, skip.reason)).collect();
    assert_eq!(
        reasons,
        [
            (1, "not JSON (expected a value)"),
            (3, "a bare value, no object"),
            (4, "not UTF-8"),
            (5, "not JSON (a number that begins with 0)"),
            (7, "cut off by the end of the file")
        ]
    );
    for skip in &found.skipped {
        let offset = usize::try_from(skip.offset).unwrap();
        assert!(offset == 0 || text[offset - 1] == b'\n');
        assert_eq!(memchr::memchr_iter(b'\n', &text[..offset]).count() as u64 + 1, skip.line);
    }
}

#[test]
fn a_line_behind_values_of_several_lines_is_named_by_its_number() {
    let mut reader = Reader::new(Counter::from(Encoding::O200k), None);
    let text = format!("\n{}\n{USE}\r\n \n\n{GAVE}\n", HI.replace(", ", ",\n \n "));
    reader.take_line(&text);
    reader.take_line("nonsense\n");
    let found = reader.finish().unwrap();
    let place = (lines(text.as_bytes()) + 1, text.len() as u64, "not JSON (expected a value)");
    assert_eq!((found.found.messages(), places(&found)), (3, vec![place]));
}

#[test]
fn whose_messages_they_are_is_found_behind_many_that_do_not_tell() {
    let text = format!("{}{USE}\n{GAVE}\n", format!("{HI}\n").repeat(FIRST / HI.len()));
    assert_eq!(read(&[text.as_bytes()]).provider, Provider::Anthropic);
}

#[test]
fn a_list_that_is_cut_keeps_the_messages_that_are_whole() {
    let list = format!("[{HI}, {USE}, {GAVE}]");
    let found = read(&[&list.as_bytes()[..list.len() - 9]]);
    assert_eq!(found.found.messages(), 2);
    assert_eq!(found.skipped.len(), 1);
}

#[test]
fn every_way_to_cut_the_bytes_into_parts_gives_the_same() {
    let text = [
        HI.as_bytes(),
        b"\nbad \xe9\xa0\n{} 01 {\"a\": \xff}\n{\"a\" 1} \xff\n",
        "{\"role\": \"user\", \"content\": \"日本\"}\n".as_bytes(),
        USE.as_bytes(),
    ]
    .concat();
    // Records behind NUL bytes, with line breaks in a string, and glued to a torn one.
    let damaged = [
        "\0\0\n\0 ".as_bytes(),
        HI.replace("\\n", "\n").as_bytes(),
        b"\0\0\n",
        &USE.as_bytes()[..40],
        GAVE.as_bytes(),
        b"\n\0nonsense\n",
        &HI.as_bytes()[..32],
        b"\n",
        HI.as_bytes(),
    ]
    .concat();
    let found = read(&[&damaged]);
    assert_eq!(found.found.messages(), 3);
    assert_eq!(
        found.skipped.iter().map(|skip| skip.is_read).collect::<Vec<_>>(),
        [false, true, true, false, false, false, false]
    );
    assert_eq!(found.lost, 5);
    // A list, in which a comma may stand behind what could not be read; behind it and a line's end none may.
    let list = [b"[\n\xff\n,\"a$\n", HI.as_bytes(), b"\n, ,\n", USE.as_bytes(), b"]\n,", GAVE.as_bytes()].concat();
    let behind_nuls =
        [GAVE.as_bytes(), b"\n\0\0[\n", HI.replace("\\n", "\n").as_bytes(), b",\n", &USE.as_bytes()[..40]].concat();
    let found = read(&[&behind_nuls]);
    assert_eq!(found.found.messages(), 2);
    assert_eq!(places(&found).iter().map(|(line, ..)| *line).collect::<Vec<_>>(), [2, 2, 3, 5]);
    // In a list a comma behind NUL bytes, with nothing more on its line, in front of a record that is cut.
    let with_comma = [b"[\n", HI.as_bytes(), b"\n\0\0\0,\n\0\n", &USE.as_bytes()[..9], b"\n", GAVE.as_bytes()].concat();
    let found = read(&[&with_comma]);
    assert_eq!(places(&found).iter().map(|(line, ..)| *line).collect::<Vec<_>>(), [1, 3, 4, 5]);
    for text in [text, list, damaged, behind_nuls, with_comma] {
        let whole = read(&[&text]);
        for at in 0..text.len() {
            let mut reader = Reader::new(Counter::from(Encoding::O200k), None);
            reader.chunk = 16;
            reader.push(&text[..at]).unwrap();
            reader.push(&text[at..]).unwrap();
            let found = reader.finish().unwrap();
            assert_eq!((found.found == whole.found, places(&found)), (true, places(&whole)), "{at}");
        }
    }
}

#[test]
fn many_lines_are_read_in_parallel_as_one_by_one() {
    let all = [HI, USE, GAVE].map(|line| format!("{line}\n")).concat().repeat(4_000);
    let found = read(&[all.as_bytes()]);
    let mut slow = Builder::default();
    let (mut tape, provider) = (Tape::default(), Provider::Anthropic);
    for line in all.lines() {
        tape.parse(line, 0).unwrap();
        provider.read(&Json::new(&tape.of(line)), &mut slow).unwrap();
    }
    assert_eq!(found.found, slow.finish(&Counter::from(Encoding::O200k)).unwrap());
}

#[test]
fn what_is_no_message_is_an_error_with_its_place() {
    let mut reader = Reader::new(Counter::from(Encoding::O200k), Some(Provider::Anthropic));
    let text = format!("{HI}\n{USE}\n{}\n", r#"{"role": "user", "content": 5}"#);
    let error = reader.push(text.as_bytes()).and_then(|()| reader.finish().map(|_| ())).unwrap_err();
    assert!(error.to_string().starts_with("messages[2].content: is a number"), "{error}");
}

#[test]
fn a_line_that_is_too_long_is_left_out_and_held_no_longer_than_needed() {
    let mut reader = Reader::new(Counter::from(Encoding::O200k), Some(Provider::Anthropic));
    reader.push(format!("{HI}\n{{\"role\": \"user\", \"content\": \"").as_bytes()).unwrap();
    let mut most = 0;
    for _ in 0..200 {
        reader.push("x".repeat(1 << 20).as_bytes()).unwrap();
        most = most.max(reader.held.len());
    }
    reader.push(format!("\"}}\n{GAVE}\n").as_bytes()).unwrap();
    let found = reader.finish().unwrap();
    assert_eq!((found.found.messages(), places(&found)), (2, vec![(2, HI.len() as u64 + 1, "longer than 64 MiB")]));
    assert!(most <= 2 * LONGEST);
}
