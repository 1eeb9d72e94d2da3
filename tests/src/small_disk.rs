//! A real file system of a few megabytes, in a mount namespace of its own, so that it can really be full or read-only.
//!
//! It needs no rights beyond those of a user who may make namespaces, and goes away with its holder.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context, Result, ensure};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

/// Mounts the disk and holds it until its input ends.
const HOLD: &str = r#"mount -t tmpfs -o "size=$2" tmpfs "$1" && echo mounted && exec cat"#;

/// How much is written at once while the disk is filled.
const FILLER_BYTES: usize = 4_096;

/// A small disk; unmounted when dropped and nothing uses it any more.
pub struct SmallDisk {
    /// A process that lives in the disk's namespace.
    holder: Child,
    id: u32,
    folder: PathBuf,
}

impl SmallDisk {
    /// Mounts a disk of this size over `folder`, which is made; only what is started in it sees it there.
    ///
    /// Returns the reason instead when the system does not let this user make namespaces.
    pub async fn mount(folder: &Path, bytes: u64) -> Result<Result<Self, String>> {
        fs::create_dir_all(folder)?;
        let spawned = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", HOLD, "sh"])
            .arg(folder)
            .arg(bytes.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut holder = match spawned {
            Ok(holder) => holder,
            Err(err) => return Ok(Err(format!("unshare cannot be run: {err}"))),
        };
        let stdout = holder.stdout.take().context("standard output is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).await?;
        if line.trim() != "mounted" {
            let said = holder.wait_with_output().await?.stderr;
            return Ok(Err(String::from_utf8_lossy(&said).trim().to_owned()));
        }
        let id = holder.id().context("the holder runs")?;
        Ok(Ok(Self { holder, id, folder: folder.to_owned() }))
    }

    /// Returns the folder as those see it that are started in the disk's namespace.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns a command that runs `program` where the disk is.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["--user", "--mount", "--preserve-credentials", "--target"])
            .arg(self.id.to_string())
            .arg("--")
            .arg(program);
        command
    }

    /// Writes until nothing more fits.
    ///
    /// # Errors
    ///
    /// When writing ends for another reason.
    pub fn fill(&self) -> Result<()> {
        let mut filler = File::options().create(true).append(true).open(self.filler())?;
        loop {
            match filler.write_all(&[b'x'; FILLER_BYTES]) {
                Ok(()) => {}
                Err(err) if err.kind() == io::ErrorKind::StorageFull => return Ok(()),
                Err(err) => return Err(err).context("filling the disk"),
            }
        }
    }

    /// Gives back what [`SmallDisk::fill`] took.
    pub fn free(&self) -> Result<()> {
        fs::remove_file(self.filler()).context("freeing the disk")
    }

    /// Mounts the disk anew, read-only.
    pub async fn make_read_only(&self) -> Result<()> {
        let output =
            self.command("mount").args(["-o", "remount,ro"]).arg(&self.folder).output().await?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    /// Unmounts the disk; whatever is on it is gone.
    pub async fn unmount(mut self) -> Result<()> {
        drop(self.holder.stdin.take());
        self.holder.wait().await.context("waiting for the disk's holder")?;
        Ok(())
    }

    /// Returns the filler's path as everybody sees it.
    fn filler(&self) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.id));
        let folder = self.folder.strip_prefix("/").unwrap_or(&self.folder);
        root.join(folder).join("filler")
    }
}
