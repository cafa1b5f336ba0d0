//! Files of tables that are mapped into memory, and shared between processes.
//!
//! The only file of this crate with `unsafe` code beside `raw`.
#![allow(unsafe_code)]
#![allow(clippy::verbose_bit_mask)] // the bits of a file's mode are read as such

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::PathBuf;

use memmap2::Mmap;
use trimtab_tokens::Keeper;
use xxhash_rust::xxh3::Xxh3;

/// A folder with the tables of vocabularies, and the user whose files are believed.
pub struct Folder {
    /// Its path.
    pub path: PathBuf,
    /// The user's number; None where files have no owner of that kind.
    #[cfg_attr(not(unix), allow(dead_code))]
    pub user: Option<u32>,
}

impl Folder {
    fn file(&self, digest: u128) -> PathBuf {
        self.path.join(format!("{digest:032x}.tables"))
    }

    /// XXH3 digest of a file, if the folder is there at all.
    pub fn digest_of(&self, path: &str) -> std::io::Result<u128> {
        fs::metadata(&self.path)?;
        let (mut file, mut digest, mut part) = (File::open(path)?, Xxh3::new(), vec![0; 1 << 20]);
        loop {
            match file.read(&mut part)? {
                0 => return Ok(digest.digest128()),
                bytes => digest.update(&part[..bytes]),
            }
        }
    }

    /// Whether a file is this user's, and nobody else can write or read it.
    #[cfg(unix)]
    fn trusts(&self, file: &File) -> bool {
        use std::os::unix::fs::MetadataExt;
        file.metadata()
            .is_ok_and(|found| found.is_file() && Some(found.uid()) == self.user && found.mode() & 0o077 == 0)
    }

    #[cfg(not(unix))]
    fn trusts(&self, file: &File) -> bool {
        file.metadata().is_ok_and(|found| found.is_file())
    }

    /// Writes a file under another name, which no other process has, and renames it.
    fn write(&self, digest: u128, words: &[u64]) -> std::io::Result<()> {
        let mut folder = fs::DirBuilder::new();
        folder.recursive(true);
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
            folder.mode(0o700);
            options.mode(0o600);
        }
        folder.create(&self.path)?;
        let new = self.path.join(format!("{digest:032x}.{}", std::process::id()));
        let written = options.open(&new).and_then(|mut file| {
            words.chunks(1 << 16).try_for_each(|some| {
                let bytes: Vec<u8> = some.iter().flat_map(|word| word.to_le_bytes()).collect();
                file.write_all(&bytes)
            })
        });
        written.and_then(|()| fs::rename(&new, self.file(digest))).inspect_err(|_| {
            let _ = fs::remove_file(&new); // there may be none
        })
    }
}

impl Keeper for Folder {
    fn get(&self, digest: u128) -> Option<&'static [u64]> {
        let file = File::open(self.file(digest)).ok().filter(|file| self.trusts(file))?;
        words(&file)
    }

    fn put(&self, digest: u128, words: &[u64]) {
        let _ = self.write(digest, words); // a home that cannot be written is no fault: the tables are in memory
    }
}

/// The words of a file, mapped into memory for as long as this process runs.
///
/// A file that another program shortens while it is mapped ends this process. Nobody does: files of this kind are written
/// under another name and renamed, never changed, and only this user can.
fn words(file: &File) -> Option<&'static [u64]> {
    // SAFETY: the map is read only, and the file behind it is not changed, as is said above. The map is leaked, so what
    // borrows it lives as long as it.
    let map: &'static Mmap = Box::leak(Box::new(unsafe { Mmap::map(file) }.ok()?));
    // SAFETY: a map begins a page, so it is aligned for words; any eight bytes are a word; the length is rounded down.
    let (head, words, rest) = unsafe { map.align_to::<u64>() };
    (head.is_empty() && rest.is_empty()).then_some(words)
}
