//! Makes the tables of the vocabularies and of the character classes from `data/`, so that nothing is parsed at run time. A
//! vocabulary comes without its table of short tokens, half of the bytes, which is made of the merges at the first use.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::{env, fs};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;

#[allow(dead_code, missing_docs)] // what reads the tables is not needed to make them
#[path = "src/bpe/tables/mod.rs"]
mod tables;

#[path = "src/claude/make.rs"]
mod claude;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for name in ["o200k_base", "cl100k_base"] {
        let file = Path::new("data").join(format!("{name}.tiktoken.gz"));
        println!("cargo::rerun-if-changed={}", file.display());
        let mut text = String::new();
        GzDecoder::new(fs::File::open(&file)?).read_to_string(&mut text)?;
        // A line is a token and its rank, and ranks are the line numbers.
        let tokens = text.lines().map(|line| STANDARD.decode(line.split(' ').next().unwrap_or(line)));
        let merges = tables::build::ranked(tokens.collect::<Result<_, _>>()?)?;
        fs::write(out.join(name), bytemuck::cast_slice(&tables::build::make(&merges, None)?))?;
    }
    let file = Path::new("data").join("classes.txt");
    println!("cargo::rerun-if-changed={}", file.display());
    println!("cargo::rerun-if-changed=src/bpe/tables");
    for file in ["claude-old.pieces", "claude-new.pieces", "claude.classes"] {
        println!("cargo::rerun-if-changed=data/{file}");
    }
    println!("cargo::rerun-if-changed=src/claude/make.rs");
    if env::var_os("CARGO_FEATURE_CLAUDE_VOCAB").is_some() {
        claude::make(Path::new("data"), &out.join("claude.rs"));
    }
    let text = fs::read_to_string(file)?;
    fs::write(out.join("classes"), classes(&text)?)?;
    fs::write(out.join("punctuation"), punctuation(&text)?)?;
    Ok(())
}

/// A bit for each code point, up to the last one of punctuation.
fn punctuation(text: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut bits = vec![0_u8; 0x11_0000 / 8];
    for line in text.lines().filter(|line| line.ends_with('p')) {
        let [first, last, _] = line.split(' ').collect::<Vec<_>>()[..] else { return Err(line.into()) };
        for point in usize::from_str_radix(first, 16)?..=usize::from_str_radix(last, 16)? {
            bits[point / 8] |= 1 << (point % 8);
        }
    }
    bits.truncate(bits.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1));
    Ok(bits)
}

/// For each 256 code points the number of a block, then the blocks: the class of each of their code points.
fn classes(text: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut all = vec![0_u8; 0x11_0000];
    for line in text.lines() {
        let [first, last, class] = line.split(' ').collect::<Vec<_>>()[..] else { return Err(line.into()) };
        let class = "-nwlucmds".find(if class == "p" { "s" } else { class }).ok_or(line)?;
        all[usize::from_str_radix(first, 16)?..=usize::from_str_radix(last, 16)?].fill(u8::try_from(class)?);
    }
    let (mut index, mut blocks) = (Vec::new(), Vec::<&[u8]>::new());
    for block in all.chunks_exact(256) {
        let known = blocks.iter().position(|known| *known == block).unwrap_or_else(|| {
            blocks.push(block);
            blocks.len() - 1
        });
        index.push(u8::try_from(known)?);
    }
    index.extend(blocks.concat());
    Ok(index)
}
