class CodexBridge < Formula
  desc "Proxy between an editor and OpenAI's Codex that enforces a policy"
  homepage "{{.Repository}}"
  version "{{.Version}}"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "{{.darwin_arm64.URL}}"
      sha256 "{{.darwin_arm64.Hash}}"
    end
    on_intel do
      url "{{.darwin_amd64.URL}}"
      sha256 "{{.darwin_amd64.Hash}}"
    end
  end

  on_linux do
    on_arm do
      url "{{.linux_arm64.URL}}"
      sha256 "{{.linux_arm64.Hash}}"
    end
    on_intel do
      url "{{.linux_amd64.URL}}"
      sha256 "{{.linux_amd64.Hash}}"
    end
  end

  def install
    bin.install "codex-bridge"
    man1.install "man/codex-bridge.1"
    bash_completion.install "completions/codex-bridge.bash" => "codex-bridge"
    fish_completion.install "completions/codex-bridge.fish"
    zsh_completion.install "completions/_codex-bridge"
  end

  test do
    assert_match "codex-bridge #{version}", shell_output("#{bin}/codex-bridge version")
  end
end
