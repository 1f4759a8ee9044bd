# `nix run .# -- demo`, `nix develop`. Compiles from source; the libraries come from Cargo.lock.
{
  description = "Runs a coding agent and verifies its work by independent checks";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      manifest = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).workspace.package;
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      forEachSystem = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in
    {
      packages = forEachSystem (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "selvedge";
          inherit (manifest) version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "--package=selvedge" ];
          # The tests need agents, a sandbox and a home, which a build does not have.
          doCheck = false;
          nativeBuildInputs = [
            pkgs.installShellFiles
            pkgs.makeWrapper
          ];
          postInstall = ''
            installManPage docs/generated/man/*.1
            installShellCompletion --bash --name selvedge docs/generated/selvedge.bash
            installShellCompletion docs/generated/selvedge.fish
            installShellCompletion --zsh docs/generated/_selvedge
            wrapProgram $out/bin/selvedge --suffix PATH : ${
              pkgs.lib.makeBinPath ([ pkgs.git ] ++ pkgs.lib.optional pkgs.stdenv.hostPlatform.isLinux pkgs.bubblewrap)
            }
          '';
          meta = {
            inherit (manifest) description homepage;
            license = [
              pkgs.lib.licenses.mit
              pkgs.lib.licenses.asl20
            ];
            mainProgram = "selvedge";
          };
        };
      });

      devShells = forEachSystem (pkgs: {
        default = pkgs.mkShell {
          packages =
            [
              pkgs.cargo
              pkgs.rustc
              pkgs.clippy
              pkgs.rustfmt
              pkgs.git
              pkgs.just
              pkgs.nodejs
              pkgs.python3
            ]
            ++ pkgs.lib.optional pkgs.stdenv.hostPlatform.isLinux pkgs.bubblewrap;
        };
      });
    };
}
