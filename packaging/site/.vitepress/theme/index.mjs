// VitePress's own theme, with the fonts of the system.
import theme from "vitepress/theme-without-fonts";
import Layout from "./Layout.vue";
import "./style.css";

export default { extends: theme, Layout };
