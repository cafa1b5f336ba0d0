//! The core's parts one by one, by Criterion: `make bench-parts`. Beside other libraries they stand in `benches/`; what a
//! part of counting costs inside the engine is `make bench-limits`.
//!
//! Texts are the crate's own: its code, its documentation, messages as JSONL and letters of seven scripts.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::thread;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use trimtab_core::json::{Json, Tape};
use trimtab_core::jsonl::Reader;
use trimtab_core::ledger::{Builder, Ledger};
use trimtab_core::shape::Provider;
use trimtab_core::truncate::{Category, Limits, truncate};
use trimtab_core::validate::{Options, validate};
use trimtab_tokens::{Claude, Counter, Encoding, IncrementalCounter};

/// The texts of a folder's files that end so, one behind the other, in the order of their names.
fn texts(folder: &str, end: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<_> = fs::read_dir(&folder).expect("a folder").map(|file| file.expect("a file").path()).collect();
    files.sort();
    let files = files.iter().filter(|file| file.to_string_lossy().ends_with(end));
    files.map(|file| fs::read_to_string(file).expect("text")).collect()
}

/// Words of seven scripts: of each a run of letters, a blank behind it.
fn scripts(words: u32) -> String {
    let (mut out, mut state) = (String::new(), 1_u32);
    for _ in 0..words {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223); // Numerical Recipes' generator
        let first = [0x0430, 0x03B1, 0x05D0, 0x0627, 0x0915, 0x4E00, 0xAC00][(state >> 16) as usize % 7];
        out.extend((0..2 + (state >> 20) % 7).filter_map(|n| char::from_u32(first + (state >> (n + 8)) % 26)));
        out.push(' ');
    }
    out
}

/// Messages a line: what is said, a call, its result.
fn lines(messages: usize, text: &str) -> String {
    let mut said = text.lines().filter(|line| line.len() > 40).cycle();
    let mut next = || {
        let line = said.next().expect("a long line");
        line.replace('\\', "\\\\").replace('"', "\\\"").replace('\t', "\\t")
    };
    let message = |n: usize| match n % 3 {
        0 => format!("{{\"role\": \"user\", \"content\": \"{}\\n{}\"}}\n", next(), next()),
        1 => format!(
            "{{\"role\": \"assistant\", \"content\": [{{\"type\": \"tool_use\", \"id\": \"t{n}\", \"name\": \"bash\", \
             \"input\": {{\"command\": \"{}\"}}}}]}}\n",
            next()
        ),
        _ => format!(
            "{{\"role\": \"user\", \"content\": [{{\"type\": \"tool_result\", \"tool_use_id\": \"t{}\", \"content\": \
             \"{}\"}}]}}\n",
            n - 1,
            next()
        ),
    };
    (0..messages).map(message).collect()
}

fn corpora() -> [(&'static str, String); 3] {
    [("code", texts("../tokens/src", ".rs")), ("prose", texts("../../docs", ".md")), ("scripts", scripts(40_000))]
}

fn counters() -> Vec<(&'static str, Counter)> {
    let exact =
        ["cl100k_base", "o200k_base"].map(|name| (name, Counter::exact(Encoding::named(name).expect("it is ours"))));
    let claude =
        ["claude-old", "claude-new"].map(|name| (name, Counter::claude(Claude::named(name).expect("it is ours"))));
    exact.into_iter().chain(claude).collect()
}

fn counting(bench: &mut Criterion) {
    for (corpus, text) in corpora() {
        let mut group = bench.benchmark_group(format!("count {corpus}"));
        group.throughput(Throughput::Bytes(text.len() as u64));
        for (name, counter) in counters() {
            group
                .bench_function(BenchmarkId::new(name, "warm"), |bench| bench.iter(|| counter.count(black_box(&text))));
            // A thread that has counted nothing: its start is 40 us of it.
            let cold =
                || thread::scope(|scope| scope.spawn(|| counter.count(black_box(&text))).join().expect("a count"));
            group.bench_function(BenchmarkId::new(name, "cold"), |bench| bench.iter(cold));
        }
    }
}

fn questions(bench: &mut Criterion) {
    let text = texts("../tokens/src", ".rs");
    let [long, short] = [50_000, 200].map(|chars| text.chars().take(chars).collect::<String>());
    let (long, short) = (long.as_str(), short.as_str());
    for (name, counter) in counters() {
        let mut group = bench.benchmark_group(format!("ask {name}"));
        group.bench_function("count 200", |bench| bench.iter(|| counter.count(black_box(short))));
        group.bench_function("exceeds 2,000 of 50 KB", |bench| bench.iter(|| counter.exceeds(black_box(long), 2_000)));
        group.bench_function("edges", |bench| bench.iter(|| counter.edges(black_box(long), 500, 500)));
        let limits = Limits { tokens: Some(1_000), ..Limits::default() };
        let cut = || truncate(black_box(long), Category::HeadTail, limits, "", &counter);
        group.bench_function("truncate 50 KB to 1,000", |bench| bench.iter(cut));
        let grown = || {
            let mut tally: IncrementalCounter = counter.incremental();
            long.split_inclusive('\n').map(|line| (tally.append(line), tally.tokens()).1).max()
        };
        group.bench_function("tally 50 KB by lines", |bench| bench.iter(grown));
    }
}

/// The ledger of lines with a message each.
fn ledger(lines: &str, counter: trimtab_core::counter::Counter) -> Ledger {
    let (mut builder, mut tape) = (Builder::new(counter.prompt, 0), Tape::default());
    for line in lines.lines() {
        tape.parse(line, 0).expect("JSON");
        Provider::Anthropic.read(&Json::new(&tape.of(line)), &mut builder).expect("a message");
    }
    builder.finish(&counter).expect("a ledger")
}

fn reading(bench: &mut Criterion) {
    let raw = lines(3_000, &texts("../tokens/src", ".rs"));
    let counter = trimtab_core::counter::Counter::from(Encoding::O200k);
    let mut group = bench.benchmark_group("3,000 messages");
    group.throughput(Throughput::Bytes(raw.len() as u64));
    let mut tape = Tape::default();
    group
        .bench_function("parse", |bench| bench.iter(|| raw.lines().filter(|line| tape.parse(line, 0).is_ok()).count()));
    let read = || {
        let mut reader = Reader::new(counter, Some(Provider::Anthropic));
        reader.push(black_box(raw.as_bytes())).expect("messages");
        reader.finish().expect("a ledger")
    };
    group.bench_function("read and count", |bench| bench.iter(read));
    group.bench_function("read and count in order", |bench| bench.iter(|| ledger(black_box(&raw), counter)));
    let held = ledger(&raw, counter);
    let judge = || validate(black_box(&held), Provider::Anthropic, Options::default(), None);
    assert!(judge().is_empty(), "the messages are valid");
    group.bench_function("validate", |bench| bench.iter(judge));
    group.finish();
}

criterion_group! {
    name = parts;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = counting, questions, reading
}
criterion_main!(parts);
