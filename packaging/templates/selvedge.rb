# Filled by `cargo xtask dist index`: copy it to a tap's Formula/selvedge.rb.
class Selvedge < Formula
  desc "Runs a coding agent and verifies its work by independent checks"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/selvedge-@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256:aarch64-apple-darwin@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/selvedge-@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256:x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/selvedge-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256:aarch64-unknown-linux-musl@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/selvedge-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256:x86_64-unknown-linux-musl@"
    end
  end

  def install
    bin.install "selvedge"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/selvedge.bash" => "selvedge"
    zsh_completion.install "completions/_selvedge"
    fish_completion.install "completions/selvedge.fish"
    doc.install "THIRD-PARTY-LICENSES.txt"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/selvedge --version")
    assert_match "verified", shell_output("#{bin}/selvedge demo 2>&1")
  end
end
